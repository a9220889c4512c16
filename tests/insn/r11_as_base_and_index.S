/* SPDX-License-Identifier: MIT */
/* r11 is base and index of one address. */
#include "case.h"
CASE
    lea r11, [rip + data]
    shr r11
    mov al, [r11 + r11 + 2]                 # expect: L data+2,1
    mov r11d, 8
    mov cl, [r11 + r11*4 + data]            # expect: L data+40,1
    same(al, 2)
    same(cl, 40)
    same(r11, 8)
END
