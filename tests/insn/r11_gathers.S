/* SPDX-License-Identifier: MIT */
/* A gather whose base is r11 touches each element from there. */
# needs: avx2
#include "case.h"
CASE
    lea r11, [rip + data]
    vmovdqu xmm1, [rip + indices]           # expect: L indices,16
    vpcmpeqd xmm2, xmm2, xmm2
    vpgatherdd xmm0, [r11 + xmm1*4], xmm2   # expect: [i=0,3,1,-2] L data+4*i,4
    vmovd eax, xmm0
    vpextrd ecx, xmm0, 1
    vpextrd edx, xmm0, 2
    vpextrd ebx, xmm0, 3
    same(eax, 0x03020100)
    same(ecx, 0x0f0e0d0c)
    same(edx, 0x07060504)
    same(ebx, 0xfbfaf9f8)
    same(r11, offset data)
END
    .data
indices:
    .long 0, 3, 1, -2
