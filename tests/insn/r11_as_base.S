/* SPDX-License-Identifier: MIT */
/* r11 is a base of loads, stores and modifies. */
#include "case.h"
CASE
    lea r11, [rip + data]
    mov rax, [r11]                          # expect: L data,8
    mov cl, [r11 + 127]                     # expect: L data+127,1
    mov [r11 - 0x400], cx                   # expect: S data-0x400,2
    add [r11 + 8], rax                      # expect: M data+8,8
    mov edx, 3
    mov bl, [r11 + rdx*8]                   # expect: L data+24,1
    same(r11, offset data)
    same(cl, 127)
    same(bl, 24)
END
