/* SPDX-License-Identifier: MIT */
/* wrgsbase moves what gs addresses; rdgsbase and arch_prctl tell it. */
# needs: fsgsbase
#include "case.h"
CASE
    fill rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    lea rax, [rip + data + 32]
    wrgsbase rax
    mov al, gs:[1]                          # expect: L data+33,1
    same(al, 33)
    rdgsbase r11
    same(r11, offset data + 32)
    lea r11, [rip + data + 64]
    wrgsbase r11
    mov al, gs:[1]                          # expect: L data+65,1
    same(al, 65)
    same(r11, offset data + 64)
    mov eax, offset data
    wrgsbase eax
    rdgsbase eax
    same(rax, offset data)
    holds rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r12, r13, r14, r15
CHECK
    mov edi, ARCH_GET_GS
    lea rsi, [rip + zeros]
    mov eax, 158
    syscall
    same(qword ptr [rip + zeros], offset data)
END
