/* SPDX-License-Identifier: MIT */
/* push and pop of r11, and of memory addressed by r11. */
#include "case.h"
CASE
    fill r11
    push r11                                # expect: S stack-8,8
    push r11w                               # expect: S stack-10,2
    xor r11d, r11d
    pop r11w                                # expect: L stack-10,2
    same(r11, 0xfff5)
    pop r11                                 # expect: L stack-8,8
    holds r11
    lea r11, [rip + data]
    push qword ptr [r11 + 8]                # expect: L data+8,8 ; S stack-8,8
    pop qword ptr [r11 + 16]                # expect: L stack-8,8 ; S data+16,8
    same(r11, offset data)
    mov r11, -1
    push 5                                  # expect: S stack-8,8
    push 6                                  # expect: S stack-16,8
    pop qword ptr [rsp + r11*8 + 8]         # expect: L stack-16,8 ; S stack-8,8
    pop r11                                 # expect: L stack-8,8
    same(r11, 6)
    same(rsp, offset stack)
END
