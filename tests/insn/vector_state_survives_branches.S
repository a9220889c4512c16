/* SPDX-License-Identifier: MIT */
/* Vector, mask and x87 registers survive jumps, calls, indirect jumps and system calls. */
# needs: avx512f
#include "case.h"
CASE
    vmovdqu32 zmm0, [rip + data]            # expect: L data,64
    vmovdqu32 zmm15, [rip + data + 64]      # expect: L data+64,64
    vmovdqu32 zmm31, [rip + data + 128]     # expect: L data+128,64
    mov eax, 0x5a5a
    kmovw k7, eax
    fld1
    call f                                  # expect: S stack-8,8
    lea rbx, [rip + there]
    jmp rbx
f:
    mov eax, 39
    syscall
    ret                                     # expect: L stack-8,8
there:
    vpcmpd k1, zmm0, [rip + data], 4        # expect: L data,64
    vpcmpd k2, zmm15, [rip + data + 64], 4  # expect: L data+64,64
    vpcmpd k3, zmm31, [rip + data + 128], 4 # expect: L data+128,64
    korw k1, k1, k2
    kortestw k1, k3
    jnz fail
    kmovw eax, k7
    same(eax, 0x5a5a)
    fistp word ptr [rip + zeros]            # expect: S zeros,2
CHECK
    same(word ptr [rip + zeros], 1)
END
