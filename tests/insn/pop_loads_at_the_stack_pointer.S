/* SPDX-License-Identifier: MIT */
/* pop of a register loads 8 bytes at the old stack pointer. */
#include "case.h"
CASE
    fill rbx, r9
    push rbx                                # expect: S stack-8,8
    push r9                                 # expect: S stack-16,8
    pop rcx                                 # expect: L stack-16,8
    pop r10                                 # expect: L stack-8,8
    same(rcx, canary_r9)
    same(r10, canary_rbx)
    same(rsp, offset stack)
END
