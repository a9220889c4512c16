/* SPDX-License-Identifier: MIT */
/* maskmovq stores each byte at rdi whose mask byte has its top bit set; the x87 top does not matter. */
#include "case.h"
CASE
    lea rdi, [rip + zeros]
    movq mm0, [rip + data + 16]             # expect: L data+16,8
    movq mm1, [rip + mask]                  # expect: L mask,8
    maskmovq mm0, mm1                       # expect: [i=1,6] S zeros+i,1
    fincstp
    maskmovq mm0, mm1                       # expect: [i=1,6] S zeros+i,1
    emms
CHECK
    same(byte ptr [rip + zeros + 6], 22)
    same(byte ptr [rip + zeros + 7], 0)
END
    .data
mask:
    .byte 0x7f, 0x80, 0, 0, 0, 0, -1, 1
