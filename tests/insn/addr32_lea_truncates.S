/* SPDX-License-Identifier: MIT */
/* lea with a 67h prefix gives a 32-bit sum, zero-extended, and touches nothing. */
#include "case.h"
CASE
    mov rbx, -16
    lea rax, [ebx + 8]                      # expect: none
    same_q(rax, 0xfffffff8)
    mov r11, -4
    lea r11, [r11d + r11d*4]                # expect: none
    same_q(r11, 0xffffffec)
END
