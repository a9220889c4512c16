/* SPDX-License-Identifier: MIT */
/* A list walked by mov rbx, [rbx] touches each node, also after a store changed a link. */
#include "case.h"
CASE
    lea rbx, [rip + first]
    lea rax, [rip + fourth]
    mov [rip + second], rax                 # expect: S second,8
    xor ecx, ecx
walk:
    inc ecx
    mov rbx, [rbx]                          # expect: L first,8 | L second,8 | L fourth,8
    test rbx, rbx
    jnz walk
    same(ecx, 3)
END
    .data
first:
    .quad second
second:
    .quad third
third:
    .quad fourth
fourth:
    .quad 0
