/* SPDX-License-Identifier: MIT */
/* Constants added to a base, more than a displacement can hold, are not lost. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    lea rbx, [rbx + 0x7fffffff]
    lea rbx, [rbx + 0x7fffffff]
    lea rdx, [rbx - 0x7fffffff]
    mov al, [rdx - 0x7fffffff + 4]          # expect: L data+4,1
    same(al, 4)
    add rbx, 0x70000000
    mov ecx, 0x70000000
    neg rcx
    add rbx, 2
    mov r8, -0x80000000
    add r8, r8
    add rbx, r8
    mov al, [rbx + rcx + 1]                 # expect: L data+1,1
    same(al, 1)
    movabs rsi, offset data + 0x100000000000
    movabs rdi, -0x100000000000
    mov al, [rsi + rdi + 7]                 # expect: L data+7,1
    sub rsi, 0x40000000
    add rdi, 0x40000000
    mov al, [rsi + rdi + 9]                 # expect: L data+9,1
    same(al, 9)
END
