/* SPDX-License-Identifier: MIT */
/* pop m loads at the stack pointer and then stores the operand. */
#include "case.h"
CASE
    lea rbx, [rip + zeros]
    push 77                                 # expect: S stack-8,8
    pop qword ptr [rbx + 8]                 # expect: L stack-8,8 ; S zeros+8,8
    push 78                                 # expect: S stack-8,8
    pop qword ptr [rip + zeros]             # expect: L stack-8,8 ; S zeros,8
    same(rsp, offset stack)
CHECK
    same(qword ptr [rip + zeros + 8], 77)
    same(qword ptr [rip + zeros], 78)
END
