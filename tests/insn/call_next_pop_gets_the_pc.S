/* SPDX-License-Identifier: MIT */
/* A call of the next instruction leaves the application's own address for pop. */
#include "case.h"
CASE
    call next                               # expect: S stack-8,8
next:
    pop rax                                 # expect: L stack-8,8
    same(rax, offset next)
    call over                               # expect: S stack-8,8
string:
    ud2                                     # never
over:
    pop rcx                                 # expect: L stack-8,8
    same(rcx, offset string)
    same(rsp, offset stack)
END
