/* SPDX-License-Identifier: MIT */
/* rep movs is one instruction with a load and a store for each iteration. */
#include "case.h"
CASE
    fill rax, rdx, rbx, rbp, r8, r9, r10, r11, r12, r13, r14, r15
    lea rsi, [rip + data]
    lea rdi, [rip + zeros]
    mov ecx, 3
    rep movsb                               # expect: [i=0..2] L data+i,1 ; S zeros+i,1
    mov ecx, 2
    rep movsw                               # expect: [i=0..1] L data+3+2*i,2 ; S zeros+3+2*i,2
    mov ecx, 2
    rep movsd                               # expect: [i=0..1] L data+7+4*i,4 ; S zeros+7+4*i,4
    mov ecx, 9
    rep movsq                               # expect: [i=0..8] L data+15+8*i,8 ; S zeros+15+8*i,8
    same(rcx, 0)
    same(rsi, offset data + 87)
    same(rdi, offset zeros + 87)
    holds rax, rdx, rbx, rbp, r8, r9, r10, r11, r12, r13, r14, r15
END
