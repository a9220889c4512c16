/* SPDX-License-Identifier: MIT */
/* cmpxchg16b is a modify of 16 bytes whether it succeeds or not. */
# needs: cx16
#include "case.h"
CASE
    fill rbp, rsi, r8, r11
    xor eax, eax
    xor edx, edx
    mov ebx, 1
    mov ecx, 2
    cmpxchg16b [rip + zeros]                # expect: M zeros,16
    jne fail
    lea rdi, [rip + zeros]
    lock cmpxchg16b [rdi]                   # expect: M zeros,16
    je fail
    same(rax, 1)
    same(rdx, 2)
    holds rbp, rsi, r8, r11
END
