/* SPDX-License-Identifier: MIT */
/* movd moves 4 and movq 8 bytes between memory and xmm or mm registers. */
# needs: avx
#include "case.h"
CASE
    movd xmm0, [rip + data + 4]             # expect: L data+4,4
    movq xmm1, [rip + data + 8]             # expect: L data+8,8
    movd [rip + zeros], xmm0                # expect: S zeros,4
    movq [rip + zeros + 8], xmm1            # expect: S zeros+8,8
    movd mm0, [rip + data]                  # expect: L data,4
    movq mm1, [rip + data]                  # expect: L data,8
    movd [rip + zeros + 16], mm0            # expect: S zeros+16,4
    movq [rip + zeros + 24], mm1            # expect: S zeros+24,8
    vmovd xmm2, [rip + data]                # expect: L data,4
    vmovq [rip + zeros + 32], xmm1          # expect: S zeros+32,8
    emms
CHECK
    same(qword ptr [rip + zeros], 0x07060504)
    same_q([rip + zeros + 8], 0x0f0e0d0c0b0a0908)
END
