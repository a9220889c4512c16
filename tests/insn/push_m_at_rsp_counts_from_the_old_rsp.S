/* SPDX-License-Identifier: MIT */
/* An rsp base in the operand of push is the value before the decrement. */
#include "case.h"
CASE
    push 11                                 # expect: S stack-8,8
    push qword ptr [rsp]                    # expect: L stack-8,8 ; S stack-16,8
    push qword ptr [rsp + 8]                # expect: L stack-8,8 ; S stack-24,8
    push qword ptr [rsp - 8]                # expect: L stack-32,8 ; S stack-32,8
    pop rax                                 # expect: L stack-32,8
    pop rcx                                 # expect: L stack-24,8
    same(rax, 0)
    same(rcx, 11)
END
