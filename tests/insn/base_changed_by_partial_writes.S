/* SPDX-License-Identifier: MIT */
/* A base register changed in one byte, two or four moves the next access. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov al, [rbx]                           # expect: L data,1
    mov bl, 5
    mov al, [rbx]                           # expect: L data+5,1
    inc bh
    mov al, [rbx]                           # expect: L data+0x105,1
    xor bx, 1
    mov al, [rbx]                           # expect: L data+0x104,1
    mov ecx, ebx
    movabs rdx, 0xffffffff00000000
    or rbx, rdx
    mov ebx, ebx
    mov al, [rbx]                           # expect: L data+0x104,1
    same(al, 4)
END
