/* SPDX-License-Identifier: MIT */
/* maskmovdqu stores each byte at rdi whose mask byte has its top bit set. */
#include "case.h"
CASE
    lea rdi, [rip + zeros + 3]
    movups xmm0, [rip + data]               # expect: L data,16
    movups xmm1, [rip + mask]               # expect: L mask,16
    maskmovdqu xmm0, xmm1                   # expect: [i=0,2,7,8,15] S zeros+3+i,1
    pxor xmm1, xmm1
    maskmovdqu xmm0, xmm1                   # expect: none
    same(rdi, offset zeros + 3)
CHECK
    same(byte ptr [rip + zeros + 5], 2)
    same(byte ptr [rip + zeros + 4], 0)
    same(byte ptr [rip + zeros + 18], 15)
END
    .data
mask:
    .byte 0x80, 0x7f, 0xff, 0, 1, 0x40, 0, 0x81, 0x90, 0, 0, 0, 0x7f, 0, 0, 0xff
