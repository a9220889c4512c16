/* SPDX-License-Identifier: MIT */
/* vpmaskmovd and vpmaskmovq touch the elements whose mask has its top bit set. */
# needs: avx2
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov ecx, 2
    vmovups ymm1, [rip + mask]              # expect: L mask,32
    vpmaskmovd xmm0, xmm1, [rbx + rcx*8]    # expect: [i=0,3] L data+16+4*i,4
    vpmaskmovd ymm0, ymm1, [rbx]            # expect: [i=0,3..6] L data+4*i,4
    vpmaskmovq xmm2, xmm1, [rbx]            # expect: [i=1] L data+8*i,8
    vpmaskmovq ymm2, ymm1, [rbx]            # expect: [i=1,2] L data+8*i,8
    vpmaskmovd [rip + zeros], ymm1, ymm0    # expect: [i=0,3..6] S zeros+4*i,4
    vpmaskmovq [rip + zeros], ymm1, ymm2    # expect: [i=1,2] S zeros+8*i,8
END
    .data
mask:
    .long -1, 0, 0, 0x80000000, -1, 0x80000000, -1, 0x7fffffff
