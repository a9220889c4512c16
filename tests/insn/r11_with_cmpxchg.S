/* SPDX-License-Identifier: MIT */
/* cmpxchg with r11 as new value, or as address, compares with rax. */
#include "case.h"
CASE
    fill rcx, rdx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
    xor eax, eax
    mov r11d, 77
    cmpxchg [rip + zeros], r11              # expect: M zeros,8
    setz dil
    same(dil, 1)
    mov eax, 5
    lock cmpxchg [rip + zeros], r11d        # expect: M zeros,4
    setz dil
    same(dil, 0)
    same(rax, 77)
    lea r11, [rip + zeros]
    cmpxchg [r11], r11                      # expect: M zeros,8
    setz dil
    same(dil, 1)
    cmpxchg r11b, cl
    setz dil
    same(dil, 0)
    same(al, 0)
    holds rcx, rdx, rbx, rbp, rsi, r8, r9, r10, r12, r13, r14, r15
CHECK
    same(qword ptr [rip + zeros], offset zeros)
END
