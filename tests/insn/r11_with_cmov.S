/* SPDX-License-Identifier: MIT */
/* cmov to r11 loads whatever the condition, and moves only if it holds. */
#include "case.h"
CASE
    lea r11, [rip + data]
    xor eax, eax
    cmovnz r11, [r11 + 8]                   # expect: L data+8,8
    same(r11, offset data)
    xor eax, eax
    cmovz r11, [r11 + 8]                    # expect: L data+8,8
    same_q(r11, 0x0f0e0d0c0b0a0908)
    xor eax, eax
    cmovnz r11d, eax
    same(r11, 0x0b0a0908)
END
