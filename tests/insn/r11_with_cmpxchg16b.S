/* SPDX-License-Identifier: MIT */
/* cmpxchg16b at an r11 address uses rax, rbx, rcx and rdx at once. */
# needs: cx16
#include "case.h"
CASE
    fill rbp, rsi, r8, r9, r10, r12, r13, r14, r15
    xor eax, eax
    xor edx, edx
    mov ebx, 11
    mov ecx, 22
    mov r11d, 2
    lock cmpxchg16b [r11*8 + zeros]         # expect: M zeros+16,16
    setz dil
    same(dil, 1)
    lea r11, [rip + zeros]
    cmpxchg16b [r11 + 16]                   # expect: M zeros+16,16
    setz dil
    same(dil, 0)
    same(rax, 11)
    same(rdx, 22)
    same(r11, offset zeros)
    holds rbp, rsi, r8, r9, r10, r12, r13, r14, r15
END
