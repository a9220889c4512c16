/* SPDX-License-Identifier: MIT */
/* A loop counter in r11 survives the loop's branches. */
#include "case.h"
CASE
    mov r11d, 5
    xor eax, eax
top:
    add eax, [r11*4 + data]                 # expect*5: L data+20-4*n,4
    dec r11
    jnz top
    same(r11, 0)
    same(eax, 0x07060504 + 0x0b0a0908 + 0x0f0e0d0c + 0x13121110 + 0x17161514)
END
