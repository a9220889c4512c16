/* SPDX-License-Identifier: MIT */
/* pinsrb, pinsrw, pinsrd, pinsrq and insertps load one element. */
# needs: sse4_1 avx
#include "case.h"
CASE
    pxor xmm0, xmm0
    pinsrb xmm0, [rip + data + 7], 0        # expect: L data+7,1
    pinsrw xmm0, [rip + data + 2], 1        # expect: L data+2,2
    pinsrd xmm0, [rip + data + 4], 1        # expect: L data+4,4
    pinsrq xmm0, [rip + data + 8], 1        # expect: L data+8,8
    insertps xmm1, [rip + data + 12], 0xd0  # expect: L data+12,4
    vpinsrw xmm2, xmm0, [rip + data], 0     # expect: L data,2
    movq rax, xmm0
    same_q(rax, 0x0706050403020007)
    movq rax, xmm1
    same_q(rax, 0x0f0e0d0c00000000)
END
