/* SPDX-License-Identifier: MIT */
/* An rsp base in the operand of pop is the value after the increment. */
#include "case.h"
CASE
    push 1                                  # expect: S stack-8,8
    push 2                                  # expect: S stack-16,8
    pop qword ptr [rsp]                     # expect: L stack-16,8 ; S stack-8,8
    push 3                                  # expect: S stack-16,8
    pop qword ptr [rsp + 16]                # expect: L stack-16,8 ; S stack+8,8
    mov ecx, 2
    push 4                                  # expect: S stack-16,8
    pop qword ptr [rsp + rcx*4]             # expect: L stack-16,8 ; S stack,8
    pop rax                                 # expect: L stack-8,8
    same(rax, 2)
CHECK
    same(qword ptr [rip + stack + 8], 3)
    same(qword ptr [rip + stack], 4)
END
