/* SPDX-License-Identifier: MIT */
/* div by r11, and by memory at r11, uses rax and rdx. */
#include "case.h"
CASE
    fill rcx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
    xor edx, edx
    mov eax, 1000
    mov r11d, 7
    div r11
    same(rax, 142)
    same(rdx, 6)
    lea r11, [rip + data]
    mov eax, 1000
    div byte ptr [r11 + 7]                  # expect: L data+7,1
    same(al, 142)
    same(ah, 6)
    mov r11, -5
    mov rax, -23
    cqo
    idiv r11
    same(rax, 4)
    same(rdx, -3)
    holds rcx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
END
