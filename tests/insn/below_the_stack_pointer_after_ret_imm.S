/* SPDX-License-Identifier: MIT */
/* The slots that ret and ret imm16 have left hold what the program put there. */
#include "case.h"
CASE
    push 11                                 # expect: S stack-8,8
    push 22                                 # expect: S stack-16,8
    call f                                  # expect: S stack-24,8
back:
    mov rax, [rsp - 24]                     # expect: L stack-24,8
    mov rcx, [rsp - 16]                     # expect: L stack-16,8
    mov rdx, [rsp - 8]                      # expect: L stack-8,8
    same(rax, offset back)
    same(rcx, 22)
    same(rdx, 11)
    lea rbx, [rip + f]
    call rbx                                # expect: S stack-8,8
    ud2                                     # never
after:
    same(rsp, offset stack + 16)
    mov rax, [rsp - 24]                     # expect: L stack-8,8
    same(rax, offset after)
    jmp done
f:
    cmp rbx, 0
    jz first
    add qword ptr [rsp], 2                  # expect: M stack-8,8
first:
    ret 16                                  # expect: L stack-24,8 | L stack-8,8
done:
END
