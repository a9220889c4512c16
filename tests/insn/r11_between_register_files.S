/* SPDX-License-Identifier: MIT */
/* r11 moves to and from vector and mask registers, touching nothing. */
# needs: sse4_1 avx512f avx512bw
#include "case.h"
CASE
    fill r11
    movq xmm0, r11
    pinsrq xmm0, r11, 1
    xor r11d, r11d
    pextrq r11, xmm0, 1
    holds r11
    movmskpd r11d, xmm0
    same(r11, 3)
    cvtsi2sd xmm1, r11d
    cvttsd2si r11, xmm1
    same(r11, 3)
    kmovq k1, r11
    mov r11, -1
    kmovq r11, k1
    same(r11, 3)
    vpbroadcastd zmm2, r11d
    vpextrd r11d, xmm2, 3
    same(r11, 3)
    pmovmskb r11d, xmm0
    same(r11, 0xffff)
END
