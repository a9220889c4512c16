/* SPDX-License-Identifier: MIT */
/* A pushed address is where ret goes. */
#include "case.h"
CASE
    fill rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    push offset there                       # expect: S stack-8,8
    ret                                     # expect: L stack-8,8
    ud2                                     # never
there:
    holds rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    push offset again                       # expect: S stack-8,8
    rep ret                                 # expect: L stack-8,8
    ud2                                     # never
again:
    same(rsp, offset stack)
END
