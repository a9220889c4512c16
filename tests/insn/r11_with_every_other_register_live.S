/* SPDX-License-Identifier: MIT */
/* An r11 operand is handled though no other register may be lost. */
#include "case.h"
CASE
    fill rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r12, r13, r14, r15
    lea r11, [rip + data]
    add [r11], rax                          # expect: M data,8
    add rax, [r11 + 8]                      # expect: L data+8,8
    sub rax, [r11 + 8]                      # expect: L data+8,8
    holds rax, rcx, rdx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
    same(r11, offset data)
    fill rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    add r11, [rip + data + 16]              # expect: L data+16,8
    jmp over
over:
    sub r11, [rip + data + 16]              # expect: L data+16,8
    push r11                                # expect: S stack-8,8
    pop qword ptr [rip + zeros]             # expect: L stack-8,8 ; S zeros,8
    holds rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
CHECK
    same(qword ptr [rip + zeros], canary_r11)
END
