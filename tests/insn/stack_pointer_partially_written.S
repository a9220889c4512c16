/* SPDX-License-Identifier: MIT */
/* Writes of sp, spl and esp move the stack as the architecture says. */
#include "case.h"
CASE
    sub esp, 16
    push 1                                  # expect: S stack-24,8
    sub sp, 8
    push 2                                  # expect: S stack-40,8
    mov spl, 0x80
    push 3                                  # expect: S stack-136,8
    movabs rax, 0x1234567800000000
    mov ecx, esp
    or rax, rcx
    mov esp, eax
    push 4                                  # expect: S stack-144,8
    lea esp, [rsp + 144]
    same(rsp, offset stack)
END
