/* SPDX-License-Identifier: MIT */
/* r11 is loaded, stored and added with a rip-relative operand. */
#include "case.h"
CASE
    mov r11, [rip + data + 8]               # expect: L data+8,8
    mov [rip + zeros], r11                  # expect: S zeros,8
    add [rip + zeros], r11b                 # expect: M zeros,1
    add r11d, [rip + data]                  # expect: L data,4
    same(r11, 0x0e0c0a08)
    cmp r11b, [rip + data + 8]              # expect: L data+8,1
    sete r11b
    same(r11b, 1)
CHECK
    same(dword ptr [rip + zeros], 0x0b0a0910)
END
