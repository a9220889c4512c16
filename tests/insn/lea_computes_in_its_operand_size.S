/* SPDX-License-Identifier: MIT */
/* lea cuts the sum to the destination's size and touches nothing. */
#include "case.h"
CASE
    mov rbx, -1
    lea eax, [rbx + 2]                      # expect: none
    same(rax, 1)
    mov rax, -1
    lea ax, [rbx + 2]                       # expect: none
    same(rax, -65535)
    lea rsp, [rsp - 16]                     # expect: none
    push rax                                # expect: S stack-24,8
    lea r11, [rbx + rbx*2]                  # expect: none
    same(r11, -3)
END
