/* SPDX-License-Identifier: MIT */
/* r11 and rsp are moved and exchanged; later pushes go to the new stack. */
#include "case.h"
CASE
    mov r11, rsp
    same(r11, offset stack)
    lea r11, [rsp - 64]
    xchg rsp, r11
    push r11                                # expect: S stack-72,8
    mov rsp, r11
    push r11                                # expect: S stack-8,8
    mov r11d, 16
    sub rsp, r11
    push r11                                # expect: S stack-32,8
    lea rsp, [rsp + r11 + 8]
    pop r11                                 # expect: L stack-8,8
    same(r11, offset stack)
    same(rsp, offset stack)
END
