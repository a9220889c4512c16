/* SPDX-License-Identifier: MIT */
/* A stack pointer set back over three frames, as longjmp does, leaves later returns right. */
#include "case.h"
CASE
    mov rbp, rsp
    call f                                  # expect: S stack-8,8
    ud2                                     # never
landed:
    same(eax, 3)
    call leaf                               # expect: S stack-8,8
    same(eax, 4)
    same(rsp, offset stack)
    jmp done
f:
    mov eax, 1
    call g                                  # expect: S stack-16,8
    ud2                                     # never
g:
    add eax, 1
    call h                                  # expect: S stack-24,8
    ud2                                     # never
h:
    add eax, 1
    mov rsp, rbp
    jmp landed
leaf:
    inc eax
    ret                                     # expect: L stack-8,8
done:
END
