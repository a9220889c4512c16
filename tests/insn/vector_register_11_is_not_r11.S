/* SPDX-License-Identifier: MIT */
/* xmm11, ymm11 and zmm11 are not r11: they work, and r11 stays. */
# needs: avx2 avx512f
#include "case.h"
CASE
    fill r11
    lea rbx, [rip + data]
    movups xmm11, [rbx]                     # expect: L data,16
    vmovdqu ymm11, [rip + indices]          # expect: L indices,32
    vpcmpeqd xmm2, xmm2, xmm2
    vpgatherdd xmm0, [rbx + xmm11*4], xmm2  # expect: [i=3,1,-1,2] L data+4*i,4
    vpcmpeqd xmm3, xmm3, xmm3
    vpxor xmm12, xmm12, xmm12
    vpgatherdd xmm11, [rbx + xmm12*4], xmm3 # expect: [i=0..3] L data,4
    vpaddd xmm11, xmm11, [rbx + 16]         # expect: L data+16,16
    vmovd eax, xmm11
    same(eax, 0x03020100 + 0x13121110)
    vpaddd zmm11, zmm11, zmm11
    vmovd xmm11, dword ptr [rip + data + 4] # expect: L data+4,4
    movd ecx, xmm11
    same(ecx, 0x07060504)
    movq r11, xmm11
    same(r11, 0x07060504)
    lea r11, [rip + data]
    vaddps ymm11, ymm11, [r11]              # expect: L data,32
    vmovups [r11], xmm11                    # expect: S data,16
    same(r11, offset data)
END
    .data
indices:
    .long 3, 1, -1, 2, 0, 0, 0, 0
