/* SPDX-License-Identifier: MIT */
/* Only the top bit of a gather's mask element counts, and repeated indices are repeated loads. */
# needs: avx2
#include "case.h"
CASE
    vmovdqu xmm1, [rip + indices]           # expect: L indices,16
    vmovdqu xmm2, [rip + mask]              # expect: L mask,16
    vpgatherdd xmm0, [xmm1*8 + data], xmm2  # expect: [i=3,3] L data+8*i,4
END
    .data
indices:
    .long 3, 3, 3, 3
mask:
    .long 0x7fffffff, 0x80000000, 1, 0xc0000000
