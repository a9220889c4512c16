/* SPDX-License-Identifier: MIT */
/* movntdqa is an ordinary load. */
# needs: sse4_1 avx2
#include "case.h"
CASE
    movntdqa xmm0, [rip + data + 16]        # expect: L data+16,16
    vmovntdqa ymm1, [rip + data + 32]       # expect: L data+32,32
    movd eax, xmm0
    same(eax, 0x13121110)
END
