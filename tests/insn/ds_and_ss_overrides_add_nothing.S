/* SPDX-License-Identifier: MIT */
/* Overrides of cs, ds, es and ss are ignored in 64-bit mode. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    .byte 0x2e; mov al, [rbx]               # expect: L data,1
    .byte 0x3e; mov al, [rbx + 1]           # expect: L data+1,1
    .byte 0x26; mov al, [rbx + 2]           # expect: L data+2,1
    .byte 0x36; mov al, [rbx + 3]           # expect: L data+3,1
    same(al, 3)
END
