/* SPDX-License-Identifier: MIT */
/* A callee that jumps to another function lets that one return. */
#include "case.h"
CASE
    call f                                  # expect: S stack-8,8
back:
    same(eax, 3)
    jmp done
f:
    mov eax, 1
    jmp g
g:
    add eax, 2
    mov rcx, [rsp]                          # expect: L stack-8,8
    ret                                     # expect: L stack-8,8
done:
    same(rcx, offset back)
END
