/* SPDX-License-Identifier: MIT */
/* Arithmetic on r11 without memory sets the flags it should, and touches nothing. */
#include "case.h"
CASE
    mov r11, -1
    add r11, 1
    setc al
    setz cl
    adc r11, 5
    same(r11, 6)
    same(al, 1)
    same(cl, 1)
    neg r11
    setc dl
    sbb r11w, r11w
    same(dl, 1)
    same(r11, -1)
    mov r11d, 0x7fffffff
    inc r11d
    seto bl
    same(bl, 1)
    bswap r11
    same_q(r11, 0x0000008000000000)
    bt r11, 39
    setc sil
    same(sil, 1)
    lzcnt r11, r11
    same(r11, 24)
    test r11b, r11b
    setp dil
    same(dil, 1)
END
