/* SPDX-License-Identifier: MIT */
/* The 128 bytes below the stack pointer survive branches of every kind that do not push. */
#include "case.h"
CASE
    mov ecx, 16
fill_it:
    mov [rsp + rcx*8 - 136], rcx            # expect*16: S stack-8-8*n,8
    dec ecx
    jnz fill_it
    jmp one
one:
    lea rax, [rip + two]
    jmp rax
two:
    xor eax, eax
    jz three
    ud2                                     # never
three:
    jnz four
four:
    jmp [rip + table]                       # expect: L table,8
five:
    mov r11d, 1
    mov ecx, 1
    loop five
    mov eax, 39
    syscall
    rdtsc
    mov ecx, 16
check:
    mov rax, [rsp + rcx*8 - 136]            # expect*16: L stack-8-8*n,8
    same(rax, rcx)
    dec ecx
    jnz check
END
    .data
table:
    .quad five
