/* SPDX-License-Identifier: MIT */
/* fld loads 4, 8 or 10 bytes. */
#include "case.h"
CASE
    fld dword ptr [rip + zeros]             # expect: L zeros,4
    fld qword ptr [rip + zeros + 8]         # expect: L zeros+8,8
    fld tbyte ptr [rip + zeros + 16]        # expect: L zeros+16,10
    fld st(1)                               # expect: none
    lea r11, [rip + data]
    fld qword ptr [r11 + 8]                 # expect: L data+8,8
    fstp qword ptr [rip + zeros + 32]       # expect: S zeros+32,8
CHECK
    same_q([rip + zeros + 32], 0x0f0e0d0c0b0a0908)
END
