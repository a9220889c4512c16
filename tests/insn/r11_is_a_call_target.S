/* SPDX-License-Identifier: MIT */
/* call r11 and jmp r11 go to the address in r11, and r11 stays. */
#include "case.h"
CASE
    lea r11, [rip + callee]
    call r11                                # expect: S stack-8,8
back:
    same(r11, offset callee)
    lea r11, [rip + there]
    jmp r11
    ud2                                     # never
callee:
    mov rax, [rsp]                          # expect: L stack-8,8
    ret                                     # expect: L stack-8,8
there:
    same(r11, offset there)
    same(rax, offset back)
END
