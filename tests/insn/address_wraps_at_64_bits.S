/* SPDX-License-Identifier: MIT */
/* The sum of base, index and displacement is taken modulo 2 to the 64th. */
#include "case.h"
CASE
    movabs rbx, offset data + 0x8000000000000000
    movabs rcx, 0x8000000000000000
    mov al, [rbx + rcx + 9]                 # expect: L data+9,1
    same(al, 9)
    lea rbx, [rip + data]
    mov al, [rbx + rcx*2 + 10]              # expect: L data+10,1
    same(al, 10)
    mov rbx, -8
    mov al, [rbx + data + 8]                # expect: L data,1
    same(al, 0)
END
