/* SPDX-License-Identifier: MIT */
/* A negative index goes below the base. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov rcx, -3
    mov al, [rbx + rcx*8]                   # expect: L data-24,1
    same(al, 256-24)
    mov rdx, -1
    mov [rbx + rdx*4 + 8], cl               # expect: S data+4,1
END
