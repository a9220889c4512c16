/* SPDX-License-Identifier: MIT */
/* An 8-bit displacement reaches from 128 below the base to 127 above it. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov al, [rbx + 127]                     # expect: L data+127,1
    mov cl, [rbx - 128]                     # expect: L data-128,1
    mov [rbx - 1], cl                       # expect: S data-1,1
    same(al, 127)
    same(cl, 128)
END
