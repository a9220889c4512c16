/* SPDX-License-Identifier: MIT */
/* The index counts once, twice, four or eight times. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov ecx, 3
    mov al, [rbx + rcx]                     # expect: L data+3,1
    same(al, 3)
    mov al, [rbx + rcx*2]                   # expect: L data+6,1
    same(al, 6)
    mov al, [rbx + rcx*4 + 1]               # expect: L data+13,1
    same(al, 13)
    mov al, [rbx + rcx*8 - 1]               # expect: L data+23,1
    same(al, 23)
END
