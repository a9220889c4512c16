/* SPDX-License-Identifier: MIT */
/* A base register changed by xchg, xadd or cmpxchg moves the next access. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    lea rcx, [rip + data + 64]
    mov al, [rbx]                           # expect: L data,1
    mov al, [rcx]                           # expect: L data+64,1
    xchg rbx, rcx
    mov al, [rbx]                           # expect: L data+64,1
    mov al, [rcx]                           # expect: L data,1
    mov edx, 8
    xadd rbx, rdx
    mov al, [rbx]                           # expect: L data+72,1
    mov al, [rdx]                           # expect: L data+64,1
    mov [rip + zeros], rcx                  # expect: S zeros,8
    xchg [rip + zeros], rbx                 # expect: M zeros,8
    mov al, [rbx]                           # expect: L data,1
    xor eax, eax
    cmpxchg [rip + zeros], rdx              # expect: M zeros,8
    mov dl, [rax]                           # expect: L data+72,1
    mov rax, rcx
    cmpxchg rcx, rbx
    mov dl, [rcx + 1]                       # expect: L data+1,1
    same(dl, 1)
END
