/* SPDX-License-Identifier: MIT */
/* Segment registers are read into r11 and tell the selectors of 64-bit code. */
#include "case.h"
CASE
    mov r11, -1
    mov r11d, cs
    same(r11, 0x33)
    mov r11w, ss
    same(r11, 0x2b)
    mov [rip + zeros], cs                   # expect: S zeros,2
CHECK
    same(word ptr [rip + zeros], 0x33)
END
