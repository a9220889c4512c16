/* SPDX-License-Identifier: MIT */
/* movhps, movlps, movhpd and movlpd move 8 bytes and keep the other half. */
# needs: avx
#include "case.h"
CASE
    pxor xmm0, xmm0
    movhps xmm0, [rip + data]               # expect: L data,8
    movlps [rip + zeros], xmm0              # expect: S zeros,8
    movhpd [rip + zeros + 8], xmm0          # expect: S zeros+8,8
    movlpd xmm0, [rip + data + 8]           # expect: L data+8,8
    vmovhps xmm1, xmm0, [rip + data]        # expect: L data,8
    vmovlpd [rip + zeros + 16], xmm1        # expect: S zeros+16,8
CHECK
    same(qword ptr [rip + zeros], 0)
    same_q([rip + zeros + 8], 0x0706050403020100)
    same_q([rip + zeros + 16], 0x0f0e0d0c0b0a0908)
END
