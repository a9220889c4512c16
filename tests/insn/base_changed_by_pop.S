/* SPDX-License-Identifier: MIT */
/* A base register that was popped or loaded points where the value says. */
#include "case.h"
CASE
    push offset data + 8                    # expect: S stack-8,8
    push offset data + 16                   # expect: S stack-16,8
    lea rbx, [rip + data]
    mov al, [rbx]                           # expect: L data,1
    pop rbx                                 # expect: L stack-16,8
    mov al, [rbx]                           # expect: L data+16,1
    pop rbx                                 # expect: L stack-8,8
    mov al, [rbx]                           # expect: L data+8,1
    mov rbp, rsp
    push offset data + 32                   # expect: S stack-8,8
    mov rbp, rsp
    leave                                   # expect: L stack-8,8
    mov al, [rbp]                           # expect: L data+32,1
    same(al, 32)
END
