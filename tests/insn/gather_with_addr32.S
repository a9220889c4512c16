/* SPDX-License-Identifier: MIT */
/* With a 67h prefix each address of a gather is truncated to 32 bits. */
# needs: avx2
#include "case.h"
CASE
    movabs rbx, offset data + 0xdead00000000
    vmovdqu xmm1, [rip + indices]           # expect: L indices,16
    vpcmpeqd xmm2, xmm2, xmm2
    vpgatherdd xmm0, [ebx + xmm1*4], xmm2   # expect: [i=1,-1,0,2] L data+4*i,4
    vmovd eax, xmm0
    same(eax, 0x07060504)
END
    .data
indices:
    .long 1, -1, 0, 2
