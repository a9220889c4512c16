/* SPDX-License-Identifier: MIT */
/* mulx with r11 as any operand multiplies by rdx and leaves the flags. */
# needs: bmi2
#include "case.h"
CASE
    fill rax, rcx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
    stc
    mov edx, 3
    lea r11, [rip + data]
    mulx rdi, r11, [r11 + 8]                # expect: L data+8,8
    setc dl
    same(dl, 1)
    same_q(r11, 0x2d2a2724211e1b18)
    mov rdx, -1
    mov r11, -1
    mulx r11, rdi, r11
    same(r11, -2)
    same(rdi, 1)
    holds rax, rcx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
END
