/* SPDX-License-Identifier: MIT */
/* mul and imul with r11 as operand use rax and rdx, and r11 stays. */
#include "case.h"
CASE
    fill rcx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
    mov rax, -1
    mov r11d, 16
    mul r11
    same(rax, -16)
    same(rdx, 15)
    same(r11, 16)
    lea r11, [rip + data]
    mov eax, 2
    mul dword ptr [r11 + 4]                 # expect: L data+4,4
    same(eax, 0x0e0c0a08)
    same(edx, 0)
    imul r11, [r11], 2                      # expect: L data,8
    same_q(r11, 0x0e0c0a0806040200)
    imul r11d, r11d
    same(r11d, (0x06040200 * 0x06040200) & 0xffffffff)
    mov al, -3
    imul r11b
    same(ax, 0)
    holds rcx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
END
