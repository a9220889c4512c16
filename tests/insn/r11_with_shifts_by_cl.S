/* SPDX-License-Identifier: MIT */
/* Shifts of r11, and of memory at r11, by cl. */
#include "case.h"
CASE
    fill rax, rdx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
    mov ecx, 4
    mov r11d, 0x81
    shl r11, cl
    same(r11, 0x810)
    shl r11b, cl
    setc dil
    same(r11, 0x800)
    same(dil, 1)
    ror r11w, cl
    same(r11, 0x80)
    lea r11, [rip + data]
    shr dword ptr [r11 + 4], cl             # expect: M data+4,4
    rcl byte ptr [r11 + 8], cl              # expect: M data+8,1
    same(rcx, 4)
    holds rax, rdx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
CHECK
    same(dword ptr [rip + data + 4], 0x00706050)
    same(byte ptr [rip + data + 8], 0x80)
END
