/* SPDX-License-Identifier: MIT */
/* An instruction that lies across two pages is one instruction. */
#include "case.h"
CASE
    mov ecx, 3
    jmp before
    .balign 4096
    .skip 4092, 0xcc
before:
    mov rax, [rcx*8 + data]                 # expect*3: L data+24-8*n,8
    mov [rip + zeros], rax                  # expect*3: S zeros,8
    loop before
    same_q(rax, 0x0f0e0d0c0b0a0908)
END
