/* SPDX-License-Identifier: MIT */
/* Pushes after enter, leave and ret imm16 go below the new stack pointer. */
#include "case.h"
CASE
    fill rbp
    enter 32, 0                             # expect: S stack-8,8
    push 1                                  # expect: S stack-48,8
    enter 16, 1                             # expect: S stack-56,8 ; S stack-64,8
    push 2                                  # expect: S stack-88,8
    leave                                   # expect: L stack-56,8
    push 3                                  # expect: S stack-56,8
    leave                                   # expect: L stack-8,8
    push 4                                  # expect: S stack-8,8
    push 5                                  # expect: S stack-16,8
    call f                                  # expect: S stack-24,8
    push 6                                  # expect: S stack-8,8
    holds rbp
    jmp done
f:
    ret 16                                  # expect: L stack-24,8
done:
END
