/* SPDX-License-Identifier: MIT */
/* ret takes its target from memory that cannot be written. */
#include "case.h"
CASE
    fill rax, rcx, rdx, rbx, rsi, rdi, r11
    mov rbp, rsp
    lea rsp, [rip + frame]
    ret                                     # expect: L frame,8
    ud2                                     # never
there:
    pop rax                                 # expect: L frame+8,8
    ret 8                                   # expect: L frame+16,8
    ud2                                     # never
again:
    same(rsp, offset frame + 32)
    same(rax, 7)
    mov rsp, rbp
    holds rcx, rdx, rbx, rsi, rdi, r11
END
    .section .rodata
frame:
    .quad there, 7, again, 0
