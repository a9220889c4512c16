/* SPDX-License-Identifier: MIT */
/* Vector loads and stores take r11 as base and as index. */
# needs: avx avx512f
#include "case.h"
CASE
    lea r11, [rip + data]
    movups xmm0, [r11 + 16]                 # expect: L data+16,16
    movq xmm1, qword ptr [r11 + 8]          # expect: L data+8,8
    mov eax, 1
    vmovups ymm2, [r11 + rax*8 + 24]        # expect: L data+32,32
    mov r11d, 4
    movups [r11*8 + zeros], xmm0            # expect: S zeros+32,16
    vmovups zmm3, [r11*2 + data]            # expect: L data+8,64
    vaddps xmm4, xmm0, [r11*4 + data]       # expect: L data+16,16
    movq rax, xmm1
    same_q(rax, 0x0f0e0d0c0b0a0908)
    vmovd eax, xmm2
    same(eax, 0x23222120)
    vmovd eax, xmm3
    same(eax, 0x0b0a0908)
    same(r11, 4)
END
