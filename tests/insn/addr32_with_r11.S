/* SPDX-License-Identifier: MIT */
/* r11d as base and index of a 67h address. */
#include "case.h"
CASE
    movabs r11, offset data + 0xdeadbeef00000000
    mov ecx, 2
    mov eax, [r11d]                         # expect: L data,4
    same(eax, 0x03020100)
    mov eax, [r11d + ecx*4]                 # expect: L data+8,4
    same(eax, 0x0b0a0908)
    movabs r11, 0xdeadbeef00000004
    mov ebx, offset data
    mov eax, [ebx + r11d*8]                 # expect: L data+32,4
    same(eax, 0x23222120)
    mov r11d, [ebx + r11d]                  # expect: L data+4,4
    same(r11, 0x07060504)
END
