/* SPDX-License-Identifier: MIT */
/* jmp r touches nothing and keeps every register. */
#include "case.h"
CASE
    fill rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14
    lea r15, [rip + there]
    jmp r15                                 # expect: none
    ud2                                     # never
there:
    holds rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14
    same(r15, offset there)
    lea rax, [rip + again]
    jmp rax                                 # expect: none
    ud2                                     # never
again:
    same(rax, offset again)
    holds rcx, rdx, rbx, r11
END
