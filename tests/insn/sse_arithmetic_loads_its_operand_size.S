/* SPDX-License-Identifier: MIT */
/* Packed SSE operations load 16 bytes, scalar ones 4 or 8. */
# needs: sse4_1 ssse3
#include "case.h"
CASE
    pxor xmm0, xmm0
    addps xmm0, [rip + zeros]               # expect: L zeros,16
    addpd xmm0, [rip + zeros]               # expect: L zeros,16
    addss xmm0, [rip + zeros]               # expect: L zeros,4
    addsd xmm0, [rip + zeros]               # expect: L zeros,8
    sqrtss xmm0, [rip + zeros]              # expect: L zeros,4
    rcpss xmm1, [rip + zeros]               # expect: L zeros,4
    cmpsd xmm1, [rip + zeros], 0            # expect: L zeros,8
    roundss xmm1, [rip + zeros], 0          # expect: L zeros,4
    roundsd xmm1, [rip + zeros], 0          # expect: L zeros,8
    paddb xmm0, [rip + data]                # expect: L data,16
    pshufb xmm0, [rip + data]               # expect: L data,16
    punpcklbw xmm1, [rip + data]            # expect: L data,16
    unpcklpd xmm1, [rip + data]             # expect: L data,16
    ptest xmm0, [rip + data]                # expect: L data,16
    jnc fail
    dpps xmm1, [rip + zeros], 0xff          # expect: L zeros,16
    movd eax, xmm0
    same(eax, 0x03020100)
END
