/* SPDX-License-Identifier: MIT */
/* rep lods is one instruction with a load for each iteration; the last value stays. */
#include "case.h"
CASE
    lea rsi, [rip + data]
    mov ecx, 4
    rep lodsb                               # expect: [i=0..3] L data+i,1
    same(al, 3)
    mov ecx, 3
    rep lodsd                               # expect: [i=0..2] L data+4+4*i,4
    same(eax, 0x0f0e0d0c)
    same(rsi, offset data + 16)
END
