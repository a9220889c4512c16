/* SPDX-License-Identifier: MIT */
/* r11 is address and value of accesses through gs. */
#include "case.h"
SETUP
    set_base ARCH_SET_GS, data
BEGIN
    mov r11d, 8
    mov rax, gs:[r11]                       # expect: L data+8,8
    same_q(rax, 0x0f0e0d0c0b0a0908)
    mov ebx, 16
    mov al, gs:[rbx + r11*2]                # expect: L data+32,1
    same(al, 32)
    mov gs:[rbx], r11                       # expect: S data+16,8
    add r11, gs:[r11*2]                     # expect: L data+16,8
    same(r11, 16)
    mov r11b, gs:[r11d + 5]                 # expect: L data+21,1
    same(r11, 0)
    mov r11, gs:[r11]                       # expect: L data,8
    same_q(r11, 0x0706050403020100)
END
