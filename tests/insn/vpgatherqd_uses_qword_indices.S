/* SPDX-License-Identifier: MIT */
/* vpgatherqd loads 4 bytes for each of two or four 8-byte indices. */
# needs: avx2
#include "case.h"
CASE
    lea rbx, [rip + data]
    vmovdqu ymm1, [rip + indices]           # expect: L indices,32
    vpcmpeqd ymm2, ymm2, ymm2
    vpgatherqd xmm0, [rbx + xmm1*4], xmm2   # expect: [i=1,-2] L data+4*i,4
    vpcmpeqd ymm2, ymm2, ymm2
    vpgatherqd xmm3, [rbx + ymm1*4], xmm2   # expect: [i=1,-2,5,0] L data+4*i,4
    vmovq rax, xmm0
    same_q(rax, 0xfbfaf9f807060504)
    vpextrq rax, xmm0, 1
    same(rax, 0)
    vpextrd eax, xmm3, 2
    same(eax, 0x17161514)
END
    .data
indices:
    .quad 1, -2, 5, 0
