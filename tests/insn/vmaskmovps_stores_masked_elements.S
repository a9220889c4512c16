/* SPDX-License-Identifier: MIT */
/* vmaskmovps stores the elements whose mask has its top bit set. */
# needs: avx
#include "case.h"
CASE
    vmovups ymm1, [rip + mask]              # expect: L mask,32
    vmovups ymm0, [rip + data]              # expect: L data,32
    vmaskmovps [rip + zeros], xmm1, xmm0    # expect: [i=0,2] S zeros+4*i,4
    vmaskmovps [rip + zeros + 64], ymm1, ymm0 # expect: [i=0,2,5,7] S zeros+64+4*i,4
CHECK
    same(dword ptr [rip + zeros + 8], 0x0b0a0908)
    same(dword ptr [rip + zeros + 4], 0)
END
    .data
mask:
    .long -1, 0x7fffffff, 0x80000000, 0, 1, -2, 0, -1
