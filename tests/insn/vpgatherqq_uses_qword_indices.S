/* SPDX-License-Identifier: MIT */
/* vpgatherqq loads 8 bytes for each 8-byte index, also without a base register. */
# needs: avx2
#include "case.h"
CASE
    vmovdqu ymm1, [rip + indices]           # expect: L indices,32
    vmovdqu ymm2, [rip + mask]              # expect: L mask,32
    vpgatherqq ymm0, [ymm1*2 + data], ymm2  # expect: [i=1,-7,60] L data+2*i,8
    vmovq rax, xmm0
    same_q(rax, 0x0908070605040302)
END
    .data
indices:
    .quad 1, -7, 0x7000000000000, 60
mask:
    .quad -1, 0x8000000000000000, 0x7fffffffffffffff, -1
