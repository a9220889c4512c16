/* SPDX-License-Identifier: MIT */
/* lea of a rip-relative operand gives the application's address and touches nothing. */
#include "case.h"
CASE
    lea rax, [rip + data]                   # expect: none
    lea r11, [rip + begin]                  # expect: none
    lea ecx, [rip + zeros]                  # expect: none
here:
    lea rdx, [rip]                          # expect: none
after_it:
    same(rax, offset data)
    same(r11, offset begin)
    same(rcx, offset zeros)
    same(rdx, offset after_it)
END
