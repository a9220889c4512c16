/* SPDX-License-Identifier: MIT */
/* A scaled index goes with rsp, rbp, r12 and r13 bases, whose codes are special. */
#include "case.h"
CASE
    lea rbp, [rip + data]
    lea r12, [rip + data + 8]
    lea r13, [rip + data + 16]
    mov ecx, 2
    mov r14d, 3
    mov al, [rbp + rcx*2]                   # expect: L data+4,1
    mov al, [r12 + r14*4]                   # expect: L data+20,1
    mov al, [r13 + rcx*8]                   # expect: L data+32,1
    same(al, 32)
    mov [rsp + r14*8], rcx                  # expect: S stack+24,8
    mov rdx, [rsp + r14*8]                  # expect: L stack+24,8
    same(rdx, 2)
END
