/* SPDX-License-Identifier: MIT */
/* push rsp stores the value before the decrement. */
#include "case.h"
CASE
    push rsp                                # expect: S stack-8,8
    pop rax                                 # expect: L stack-8,8
    same(rax, offset stack)
END
