/* SPDX-License-Identifier: MIT */
/* fnsave stores and frstor loads 108 bytes, 94 with an operand-size prefix. */
#include "case.h"
CASE
    fldpi
    fnsave [rip + zeros]                    # expect: S zeros,108
    frstor [rip + zeros]                    # expect: L zeros,108
    .byte 0x66; fnsave [rip + zeros + 256]  # expect: S zeros+256,94
    .byte 0x66; frstor [rip + zeros + 256]  # expect: L zeros+256,94
    fstp tbyte ptr [rip + zeros + 512]      # expect: S zeros+512,10
CHECK
    same(word ptr [rip + zeros + 36], 0x4000)
    same(word ptr [rip + zeros + 520], 0x4000)
END
