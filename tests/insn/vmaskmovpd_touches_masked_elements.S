/* SPDX-License-Identifier: MIT */
/* vmaskmovpd loads and stores 8 bytes per element whose mask has its top bit set. */
# needs: avx
#include "case.h"
CASE
    vmovups ymm1, [rip + mask]              # expect: L mask,32
    vmaskmovpd xmm0, xmm1, [rip + data]     # expect: L data+8,8
    vmaskmovpd ymm0, ymm1, [rip + data]     # expect: [i=1,2] L data+8*i,8
    vmaskmovpd [rip + zeros], ymm1, ymm0    # expect: [i=1,2] S zeros+8*i,8
CHECK
    same_q([rip + zeros + 8], 0x0f0e0d0c0b0a0908)
    same(qword ptr [rip + zeros], 0)
END
    .data
mask:
    .quad 0x7fffffffffffffff, -1, 0x8000000000000000, 0
