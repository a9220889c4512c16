/* SPDX-License-Identifier: MIT */
/* push and pop of fs move 8 bytes, or 2 with an operand-size prefix. */
#include "case.h"
CASE
    push fs                                 # expect: S stack-8,8
    push gs                                 # expect: S stack-16,8
    data16 push fs                          # expect: S stack-18,2
    same(rsp, offset stack - 18)
    data16 pop fs                           # expect: L stack-18,2
    pop rax                                 # expect: L stack-16,8
    pop fs                                  # expect: L stack-8,8
    same(rsp, offset stack)
END
