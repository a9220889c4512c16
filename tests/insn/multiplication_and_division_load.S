/* SPDX-License-Identifier: MIT */
/* mul, imul, div and idiv load their memory operand. */
#include "case.h"
CASE
    mov eax, 3
    mul byte ptr [rip + data + 5]           # expect: L data+5,1
    same(ax, 15)
    imul dword ptr [rip + data + 4]         # expect: L data+4,4
    imul ecx, [rip + data + 4], 2           # expect: L data+4,4
    same(ecx, 0x0e0c0a08)
    imul rcx, [rip + data + 8]              # expect: L data+8,8
    imul cx, [rip + data + 2], 0x101        # expect: L data+2,2
    same(cx, 0x0502)
    xor edx, edx
    mov eax, 1000
    div qword ptr [rip + seven]             # expect: L seven,8
    same(rax, 142)
    same(rdx, 6)
    mov ax, -1000
    idiv byte ptr [rip + seven + 8]         # expect: L seven+8,1
    same(al, 100)
    mov eax, 1000
    xor edx, edx
    idiv dword ptr [rip + seven]            # expect: L seven,4
    same(eax, 142)
END
    .data
seven:
    .quad 7
    .byte -10
