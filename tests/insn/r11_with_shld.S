/* SPDX-License-Identifier: MIT */
/* shld and shrd with r11 as either operand, by cl and by an immediate. */
#include "case.h"
CASE
    fill rax, rdx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
    mov r11, 0x1234
    mov rdi, -1
    shld r11, rdi, 8
    same(r11, 0x1234ff)
    mov ecx, 4
    shrd rdi, r11, cl
    same_q(rdi, 0xffffffffffffffff)
    shld [rip + data + 8], r11, cl          # expect: M data+8,8
    lea r11, [rip + data]
    shrd [r11 + 16], r11d, 8                # expect: M data+16,4
    holds rax, rdx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
CHECK
    same_q([rip + data + 8], 0xf0e0d0c0b0a09080)
    same(dword ptr [rip + data + 16], 0x00131211)
END
