/* SPDX-License-Identifier: MIT */
/* An rsp base in the operand of call is the value before the decrement. */
#include "case.h"
CASE
    lea rax, [rip + callee]
    push rax                                # expect: S stack-8,8
    call [rsp]                              # expect: L stack-8,8 ; S stack-16,8
    same(rsp, offset stack - 8)
    jmp done
callee:
    ret                                     # expect: L stack-16,8
done:
END
