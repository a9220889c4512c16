/* SPDX-License-Identifier: MIT */
/* andn, bextr, shlx and their kin take r11 in the third operand field. */
# needs: bmi1 bmi2
#include "case.h"
CASE
    fill rax, rcx, rdx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
    mov r11, 0xff
    andn rdi, r11, [rip + data + 8]         # expect: L data+8,8
    same_q(rdi, 0x0f0e0d0c0b0a0900)
    mov r11, 0x0804
    bextr edi, [rip + data + 4], r11d       # expect: L data+4,4
    same(edi, 0x50)
    mov r11, 8
    shlx r11, [rip + data + 16], r11        # expect: L data+16,8
    same_q(r11, 0x1615141312111000)
    lea r11, [rip + data]
    sarx r11, [r11 + 24], r11               # expect: L data+24,8
    same_q(r11, 0x1f1e1d1c1b1a1918)
    pext r11d, r11d, [rip + data + 4]       # expect: L data+4,4
    same(r11, 0x6a)
    blsr r11, [rip + data + 8]              # expect: L data+8,8
    same_q(r11, 0x0f0e0d0c0b0a0900)
    rorx r11, r11, 8
    same_q(r11, 0x000f0e0d0c0b0a09)
    holds rax, rcx, rdx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
END
