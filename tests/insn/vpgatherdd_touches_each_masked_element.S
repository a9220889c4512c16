/* SPDX-License-Identifier: MIT */
/* vpgatherdd loads the elements whose mask has its top bit set, ascending, and clears the mask. */
# needs: avx2
#include "case.h"
CASE
    lea rbx, [rip + data]
    vmovdqu ymm1, [rip + indices]           # expect: L indices,32
    vmovdqu ymm2, [rip + mask]              # expect: L mask,32
    vpxor ymm0, ymm0, ymm0
    vpgatherdd ymm0, [rbx + ymm1*4 + 4], ymm2 # expect: [i=2,40,-3,7] L data+4+4*i,4
    vpmovmskb eax, ymm2
    same(eax, 0)
    vpextrd eax, xmm0, 0
    vpextrd ecx, xmm0, 1
    same(eax, 0x0f0e0d0c)
    same(ecx, 0)
    vextracti128 xmm3, ymm0, 1
    vpextrd eax, xmm3, 3
    same(eax, 0x23222120)
END
    .data
indices:
    .long 2, 1000000, 40, -3, 2000000, -2000000, 3000000, 7
mask:
    .long -1, 0, 0x80000000, 0xffff0000, 0x7fffffff, 1, 0, -1
