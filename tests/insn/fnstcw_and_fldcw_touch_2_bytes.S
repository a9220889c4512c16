/* SPDX-License-Identifier: MIT */
/* The control and status words are 2 bytes. */
#include "case.h"
CASE
    fnstcw [rip + zeros]                    # expect: S zeros,2
    fldcw [rip + zeros]                     # expect: L zeros,2
    fnstsw [rip + zeros + 2]                # expect: S zeros+2,2
    fnstsw ax                               # expect: none
CHECK
    same(dword ptr [rip + zeros], 0x037f)
END
