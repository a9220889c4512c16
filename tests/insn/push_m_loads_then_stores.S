/* SPDX-License-Identifier: MIT */
/* push m loads the operand and then stores it below the stack pointer. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    push qword ptr [rbx + 8]      # expect: L data+8,8 ; S stack-8,8
    pop rax                       # expect: L stack-8,8
CHECK
    same_q(rax, 0x0f0e0d0c0b0a0908)
    same(rsp, offset stack)
END
