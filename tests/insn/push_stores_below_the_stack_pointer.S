/* SPDX-License-Identifier: MIT */
/* push of a register or an immediate stores 8 bytes at the new stack pointer. */
#include "case.h"
CASE
    fill rax, r15
    push rax                                # expect: S stack-8,8
    push r15                                # expect: S stack-16,8
    push 5                                  # expect: S stack-24,8
    push -0x12345678                        # expect: S stack-32,8
    same(rsp, offset stack - 32)
CHECK
    same(qword ptr [rip + stack - 8], canary_rax)
    same(qword ptr [rip + stack - 16], canary_r15)
    same(qword ptr [rip + stack - 24], 5)
    same(qword ptr [rip + stack - 32], -0x12345678)
END
