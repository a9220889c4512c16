/* SPDX-License-Identifier: MIT */
/* vpgatherdq loads 8 bytes for each of two or four 4-byte indices. */
# needs: avx2
#include "case.h"
CASE
    lea rbx, [rip + data]
    vmovdqu xmm1, [rip + indices]           # expect: L indices,16
    vpcmpeqd ymm2, ymm2, ymm2
    vpgatherdq xmm0, [rbx + xmm1*8], xmm2   # expect: [i=1,-2] L data+8*i,8
    vpcmpeqd ymm2, ymm2, ymm2
    vpgatherdq ymm3, [rbx + xmm1*8], ymm2   # expect: [i=1,-2,5,0] L data+8*i,8
    vmovq rax, xmm0
    same_q(rax, 0x0f0e0d0c0b0a0908)
    vpextrq rax, xmm3, 1
    same_q(rax, 0xf7f6f5f4f3f2f1f0)
END
    .data
indices:
    .long 1, -2, 5, 0
