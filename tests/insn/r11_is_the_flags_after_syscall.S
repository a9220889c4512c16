/* SPDX-License-Identifier: MIT */
/* syscall leaves the next pc in rcx and the flags in r11, and keeps the rest. */
#include "case.h"
CASE
    fill rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    mov eax, 39
    stc
    syscall
after:
    setc cl
    mov rax, r11
    and eax, CF | ZF | DF | OF | 2
    same(eax, CF | 2)
    same(cl, 1)
    holds rdx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
    xor ecx, ecx
    mov eax, 39
    syscall
next:
    same(rcx, offset next)
    shr r11d, 1
    and r11d, 1
    same(r11, 1)
    same(rsp, offset stack)
END
