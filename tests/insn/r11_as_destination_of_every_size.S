/* SPDX-License-Identifier: MIT */
/* Loads to r11b and r11w leave the rest of r11; a load to r11d clears it. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    fill r11
    mov r11b, [rbx + 1]                     # expect: L data+1,1
    same(r11, (canary_r11 & ~0xff) | 1)
    mov r11w, [rbx + 2]                     # expect: L data+2,2
    same(r11, (canary_r11 & ~0xffff) | 0x0302)
    mov r11d, [rbx + 4]                     # expect: L data+4,4
    same(r11, 0x07060504)
    mov r11, [rbx + 8]                      # expect: L data+8,8
    same_q(r11, 0x0f0e0d0c0b0a0908)
END
