/* SPDX-License-Identifier: MIT */
/* nop with a memory operand, lea and endbr64 touch nothing. */
#include "case.h"
CASE
    mov ebx, 16
    nop dword ptr [rbx]                     # expect: none
    nop word ptr cs:[rax + rax + 0x1000]    # expect: none
    nop qword ptr [r11]                     # expect: none
    lea rax, [rbx + rbx*8 + 5]              # expect: none
    endbr64                                 # expect: none
    pause                                   # expect: none
    xchg eax, eax                           # expect: none
    same(rax, 149)
END
