/* SPDX-License-Identifier: MIT */
/* cmpxchg8b is a modify of 8 bytes whether it succeeds or not. */
#include "case.h"
CASE
    fill rbp, rsi, r8, r11
    xor eax, eax
    xor edx, edx
    mov ebx, 1
    mov ecx, 2
    cmpxchg8b [rip + zeros]                 # expect: M zeros,8
    jne fail
    lock cmpxchg8b [rip + zeros]            # expect: M zeros,8
    je fail
    same(rax, 1)
    same(rdx, 2)
    holds rbp, rsi, r8, r11
END
