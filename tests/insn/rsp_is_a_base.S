/* SPDX-License-Identifier: MIT */
/* rsp as a base reads and writes around the stack pointer, the red zone included. */
#include "case.h"
CASE
    fill rax, rcx
    mov [rsp], rax                          # expect: S stack,8
    mov [rsp - 128], rcx                    # expect: S stack-128,8
    mov rdx, [rsp]                          # expect: L stack,8
    mov rbx, [rsp - 128]                    # expect: L stack-128,8
    mov [rsp + 0x200], bl                   # expect: S stack+0x200,1
    inc dword ptr [rsp - 8]                 # expect: M stack-8,4
    same(rdx, rax)
    same(rbx, rcx)
    same(rsp, offset stack)
END
