/* SPDX-License-Identifier: MIT */
/* ret goes to the address on the stack, though it is not the caller's. */
#include "case.h"
CASE
    call callee                             # expect: S stack-8,8
    ud2                                     # never
elsewhere:
    same(rsp, offset stack)
    call skip                               # expect: S stack-8,8
    ud2                                     # never
    jmp done
callee:
    lea rax, [rip + elsewhere]
    mov [rsp], rax                          # expect: S stack-8,8
    ret                                     # expect: L stack-8,8
skip:
    add qword ptr [rsp], 2                  # expect: M stack-8,8
    ret                                     # expect: L stack-8,8
done:
END
