/* SPDX-License-Identifier: MIT */
/* A load through r11 into r11 uses the old value for the address. */
#include "case.h"
CASE
    lea r11, [rip + data]
    mov r11, [r11 + 8]                      # expect: L data+8,8
    same_q(r11, 0x0f0e0d0c0b0a0908)
    lea r11, [rip + data]
    movzx r11d, byte ptr [r11 + 9]          # expect: L data+9,1
    same(r11, 9)
    mov r11b, [r11 + data + 7]              # expect: L data+16,1
    same(r11, 16)
    movsx r11, byte ptr [r11*8 + data]      # expect: L data+128,1
    same(r11, -128)
END
