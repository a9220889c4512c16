/* SPDX-License-Identifier: MIT */
/* call rel stores the address after it below the stack pointer; ret loads it. */
#include "case.h"
CASE
    call callee                             # expect: S stack-8,8
back:
    jmp done
callee:
    mov rax, [rsp]                          # expect: L stack-8,8
    ret                                     # expect: L stack-8,8
done:
    same(rax, offset back)
    same(rsp, offset stack)
CHECK
    same(qword ptr [rip + stack - 8], offset back)
END
