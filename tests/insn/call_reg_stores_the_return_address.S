/* SPDX-License-Identifier: MIT */
/* call r stores the address after it below the stack pointer, whichever register. */
#include "case.h"
CASE
    fill rcx, rdx, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    lea rax, [rip + callee]
    call rax                                # expect: S stack-8,8
back:
    same(rbx, offset back)
    lea rbp, [rip + callee]
    call rbp                                # expect: S stack-8,8
    lea r13, [rip + callee]
    call r13                                # expect: S stack-8,8
    fill r13
    holds rcx, rdx, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    jmp done
callee:
    mov rbx, [rsp]                          # expect*3: L stack-8,8
    ret                                     # expect*3: L stack-8,8
done:
    same(rsp, offset stack)
END
