/* SPDX-License-Identifier: MIT */
/* vmaskmovps loads the elements whose mask has its top bit set. */
# needs: avx
#include "case.h"
CASE
    lea r11, [rip + data]
    vmovups ymm1, [rip + mask]              # expect: L mask,32
    vmaskmovps xmm0, xmm1, [r11]            # expect: [i=0,2] L data+4*i,4
    vmaskmovps ymm2, ymm1, [r11 + 8]        # expect: [i=0,2,5,7] L data+8+4*i,4
    vpextrd eax, xmm0, 2
    same(eax, 0x0b0a0908)
    vpextrd eax, xmm0, 1
    same(eax, 0)
END
    .data
mask:
    .long -1, 0x7fffffff, 0x80000000, 0, 1, -2, 0, -1
