/* SPDX-License-Identifier: MIT */
/* rsp as a base with a scaled index. */
#include "case.h"
CASE
    mov ecx, 4
    mov [rsp + rcx*8 - 48], rcx             # expect: S stack-16,8
    mov rax, [rsp + rcx*4 - 32]             # expect: L stack-16,8
    same(rax, 4)
    mov r11, -2
    mov rdx, [rsp + r11*8]                  # expect: L stack-16,8
    same(rdx, 4)
END
