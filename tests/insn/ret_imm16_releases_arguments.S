/* SPDX-License-Identifier: MIT */
/* ret imm16 loads 8 bytes and moves the stack pointer past the arguments. */
#include "case.h"
CASE
    push 1                                  # expect: S stack-8,8
    push 2                                  # expect: S stack-16,8
    call callee                             # expect: S stack-24,8
    same(rsp, offset stack)
    call none                               # expect: S stack-8,8
    same(rsp, offset stack)
    jmp done
callee:
    ret 16                                  # expect: L stack-24,8
none:
    ret 0                                   # expect: L stack-8,8
done:
END
