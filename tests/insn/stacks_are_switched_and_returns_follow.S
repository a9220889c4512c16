/* SPDX-License-Identifier: MIT */
/* Two stacks that take turns, as coroutines do, each return to where they left. */
#include "case.h"
CASE
    lea rbx, [rip + stack - 1024]
    lea rax, [rip + coroutine]
    mov [rbx - 8], rax                      # expect: S stack-1032,8
    sub rbx, 8
    xor ecx, ecx
    call switch                             # expect: S stack-8,8
    add ecx, 1
    call switch                             # expect: S stack-8,8
    add ecx, 1
    same(ecx, 0x202)
    jmp done
coroutine:
    add ecx, 0x100
    call switch                             # expect: S stack-1032,8
    add ecx, 0x100
    call switch                             # expect: S stack-1032,8
    ud2                                     # never
switch:
    xchg rsp, rbx
    # expect: L stack-1032,8 | L stack-8,8 | L stack-1032,8 | L stack-8,8
    ret
done:
    same(rsp, offset stack)
END
