/* SPDX-License-Identifier: MIT */
/* call and jmp through memory addressed by r11. */
#include "case.h"
CASE
    lea r11, [rip + table]
    call [r11 + 8]                          # expect: L table+8,8 ; S stack-8,8
    same(r11, offset table)
    mov r11d, 2
    jmp [r11*8 + table]                     # expect: L table+16,8
    ud2                                     # never
callee:
    ret                                     # expect: L stack-8,8
there:
    same(r11, 2)
END
    .data
table:
    .quad 0, callee, there
