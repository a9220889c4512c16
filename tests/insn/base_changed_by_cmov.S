/* SPDX-License-Identifier: MIT */
/* A base register that cmov did or did not change is used as it is. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    lea rcx, [rip + data + 64]
    mov al, [rbx]                           # expect: L data,1
    xor edx, edx
    cmovnz rbx, rcx
    mov al, [rbx]                           # expect: L data,1
    xor edx, edx
    cmovz rbx, rcx
    mov al, [rbx]                           # expect: L data+64,1
    same(al, 64)
END
