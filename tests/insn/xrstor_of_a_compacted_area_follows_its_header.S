/* SPDX-License-Identifier: MIT */
/* xrstor of a compacted area loads the size its header tells, whatever is asked for. */
# needs: xsavec avx512f
#include "case.h"
CASE
    vmovups ymm7, [rip + data]              # expect: L data,32
    xor edx, edx
    mov eax, 7
    xsavec [rip + zeros]                    # expect: S zeros,832
    mov eax, 0x44
    xsavec [rip + zeros + 1024]             # expect: S zeros+1024,1344
    vpxor xmm7, xmm7, xmm7
    mov eax, 2
    xrstor [rip + zeros]                    # expect: L zeros,832
    mov eax, 7
    xrstor [rip + zeros]                    # expect: L zeros,832
    vextractf128 xmm6, ymm7, 1
    movd ecx, xmm6
    same(ecx, 0x13121110)
    mov eax, 4
    xrstor [rip + zeros + 1024]             # expect: L zeros+1024,1344
END
