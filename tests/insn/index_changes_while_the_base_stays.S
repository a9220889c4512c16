/* SPDX-License-Identifier: MIT */
/* Only the index moves in a counted loop, up and then down. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    xor ecx, ecx
up:
    mov eax, [rbx + rcx*4]                  # expect*4: L data+4*n,4
    mov [rsp + rcx*8 - 64], rax             # expect*4: S stack-64+8*n,8
    inc ecx
    cmp ecx, 4
    jb up
down:
    sub ecx, 1
    mov eax, [rbx + rcx*4]                  # expect*4: L data+12-4*n,4
    jnz down
    same(eax, 0x03020100)
END
