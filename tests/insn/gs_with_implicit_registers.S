/* SPDX-License-Identifier: MIT */
/* mul, div, cmpxchg16b, shifts by cl and xlat work through gs. */
# needs: cx16
#include "case.h"
SETUP
    set_base ARCH_SET_GS, zeros
    fill rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
BEGIN
    xor eax, eax
    xor edx, edx
    mov ebx, 100
    mov ecx, 3
    cmpxchg16b gs:[0]                       # expect: M zeros,16
    jne fail
    shl qword ptr gs:[8], cl                # expect: M zeros+8,8
    mov eax, 5
    mul qword ptr gs:[8]                    # expect: L zeros+8,8
    same(rax, 120)
    mov eax, 1007
    div qword ptr gs:[0]                    # expect: L zeros,8
    same(rax, 10)
    same(rdx, 7)
    xor ebx, ebx
    mov al, 8
    xlat byte ptr gs:[rbx]                  # expect: L zeros+8,1
    same(al, 24)
    cmpxchg gs:[rbx], rcx                   # expect: M zeros,8
    holds rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
END
