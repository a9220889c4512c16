/* SPDX-License-Identifier: MIT */
/* Loading, exchanging and conditionally moving rsp from memory moves the stack of what follows. */
#include "case.h"
CASE
    lea rax, [rip + stack - 512]
    mov [rip + zeros], rax                  # expect: S zeros,8
    mov rsp, [rip + zeros]                  # expect: L zeros,8
    push 1                                  # expect: S stack-520,8
    lea rcx, [rip + stack - 256]
    mov [rip + zeros], rcx                  # expect: S zeros,8
    xchg rsp, [rip + zeros]                 # expect: M zeros,8
    push 2                                  # expect: S stack-264,8
    xor edx, edx
    cmovz rsp, [rip + zeros]                # expect: L zeros,8
    pop rdx                                 # expect: L stack-520,8
    same(rdx, 1)
    add rsp, [rip + eight]                  # expect: L eight,8
    push rdx                                # expect: S stack-512,8
END
    .data
eight:
    .quad 8
