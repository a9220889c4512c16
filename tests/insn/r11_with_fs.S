/* SPDX-License-Identifier: MIT */
/* A segment override applies to an address in r11. */
#include "case.h"
SETUP
    set_base ARCH_SET_FS, data + 64
BEGIN
    mov r11d, 8
    mov rax, fs:[r11]                       # expect: L data+72,8
    mov cl, fs:[r11*4 - 40]                 # expect: L data+56,1
    mov r11, fs:[r11 + 8]                   # expect: L data+80,8
    mov r10, r11
    mov r11, -64
    mov fs:[r11], r11b                      # expect: S data,1
    same_q(rax, 0x4f4e4d4c4b4a4948)
    same(cl, 56)
    same_q(r10, 0x5756555453525150)
CHECK
    same(byte ptr [rip + data], 0xc0)
END
