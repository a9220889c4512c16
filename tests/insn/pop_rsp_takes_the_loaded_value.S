/* SPDX-License-Identifier: MIT */
/* pop rsp loads at the old stack pointer, and the loaded value is the new one. */
#include "case.h"
CASE
    lea rax, [rip + stack - 256]
    push rax                                # expect: S stack-8,8
    pop rsp                                 # expect: L stack-8,8
    same(rsp, rax)
    push rax                                # expect: S stack-264,8
END
