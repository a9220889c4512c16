/* SPDX-License-Identifier: MIT */
/* mov rsp, lea rsp, add rsp, xchg rsp and inc rsp move the stack of what follows. */
#include "case.h"
CASE
    lea rax, [rip + stack - 512]
    mov rsp, rax
    push 1                                  # expect: S stack-520,8
    lea rsp, [rsp + 256]
    push 2                                  # expect: S stack-272,8
    mov ecx, 128
    add rsp, rcx
    push 3                                  # expect: S stack-152,8
    sub rsp, rcx
    push 4                                  # expect: S stack-288,8
    xchg rsp, rax
    push 5                                  # expect: S stack-520,8
    xchg rax, rsp
    pop rdx                                 # expect: L stack-288,8
    same(rdx, 4)
    inc rsp
    push 6                                  # expect: S stack-287,8
    lea rsp, [rip + stack]
    neg rsp
    neg rsp
    push rsp                                # expect: S stack-8,8
END
