/* SPDX-License-Identifier: MIT */
/* String instructions, which take no operand field, leave r11 alone. */
#include "case.h"
CASE
    fill r11, rax
    lea rsi, [rip + data]
    lea rdi, [rip + zeros]
    mov ecx, 3
    rep movsq                               # expect: [i=0..2] L data+8*i,8 ; S zeros+8*i,8
    stosq                                   # expect: S zeros+24,8
    lodsb                                   # expect: L data+24,1
    scasb                                   # expect: L zeros+32,1
    holds r11
    same(al, 24)
    same(rdi, offset zeros + 33)
END
