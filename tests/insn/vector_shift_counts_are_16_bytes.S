/* SPDX-License-Identifier: MIT */
/* A shift of a ymm or zmm by a count in memory loads 16 bytes of count. */
# needs: avx2 avx512f avx512bw
#include "case.h"
CASE
    vpslld ymm0, ymm1, [rip + zeros]        # expect: L zeros,16
    psrlq xmm0, [rip + zeros]               # expect: L zeros,16
    vpsraw zmm0, zmm1, [rip + zeros]        # expect: L zeros,16
    vpsrlq zmm0, zmm1, [rip + zeros]        # expect: L zeros,16
    vpsrld zmm0, [rip + data], 4            # expect: L data,64
    vmovd eax, xmm0
    same(eax, 0x03020100 >> 4)
END
