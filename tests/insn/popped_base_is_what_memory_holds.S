/* SPDX-License-Identifier: MIT */
/* A base pushed and popped again is what the slot holds, though another name changed it. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    lea rcx, [rip + data + 64]
    lea rdx, [rsp - 8]
    push rbx                                # expect: S stack-8,8
    mov [rdx], rcx                          # expect: S stack-8,8
    pop rbx                                 # expect: L stack-8,8
    mov al, [rbx]                           # expect: L data+64,1
    push rbx                                # expect: S stack-8,8
    add byte ptr [rsp], 8                   # expect: M stack-8,1
    pop rbx                                 # expect: L stack-8,8
    mov al, [rbx]                           # expect: L data+72,1
    mov [rip + zeros], rbx                  # expect: S zeros,8
    inc byte ptr [rip + zeros]              # expect: M zeros,1
    mov rbx, [rip + zeros]                  # expect: L zeros,8
    mov al, [rbx]                           # expect: L data+73,1
    same(al, 73)
END
