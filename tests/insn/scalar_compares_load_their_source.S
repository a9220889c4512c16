/* SPDX-License-Identifier: MIT */
/* comiss, ucomiss, comisd and ucomisd load 4 or 8 bytes and set the flags. */
#include "case.h"
CASE
    pxor xmm0, xmm0
    comiss xmm0, [rip + zeros]              # expect: L zeros,4
    jne fail
    ucomiss xmm0, [rip + one]               # expect: L one,4
    jnb fail
    comisd xmm0, [rip + zeros]              # expect: L zeros,8
    jne fail
    ucomisd xmm0, [rip + one + 4]           # expect: L one+4,8
    jnb fail
END
    .data
one:
    .float 1.0
    .double 1.0
