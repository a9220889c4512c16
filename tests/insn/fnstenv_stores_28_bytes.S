/* SPDX-License-Identifier: MIT */
/* fnstenv stores and fldenv loads 28 bytes, 14 with an operand-size prefix. */
#include "case.h"
CASE
    fnstenv [rip + zeros]                   # expect: S zeros,28
    fldenv [rip + zeros]                    # expect: L zeros,28
    .byte 0x66; fnstenv [rip + zeros + 64]  # expect: S zeros+64,14
    .byte 0x66; fldenv [rip + zeros + 64]   # expect: L zeros+64,14
CHECK
    same(word ptr [rip + zeros], 0x037f)
    same(word ptr [rip + zeros + 64], 0x037f)
END
