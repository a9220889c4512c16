/* SPDX-License-Identifier: MIT */
/* rcx is a good base right after a system call. */
#include "case.h"
CASE
    mov eax, 39
    syscall
after:
    mov al, [rcx]                           # expect: L after,1
    same(al, 0x8a)
    lea rbx, [rip + data]
    mov dl, [rbx]                           # expect: L data,1
    mov eax, 39
    syscall
    mov dl, [rbx + 1]                       # expect: L data+1,1
    same(dl, 1)
END
