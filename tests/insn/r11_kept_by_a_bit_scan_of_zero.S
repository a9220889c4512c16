/* SPDX-License-Identifier: MIT */
/* bsf and bsr of zero, and rdssp without a shadow stack, leave their destination as it was. */
#include "case.h"
CASE
    fill rax, rbx, rcx, rdx, r11
    xor esi, esi
    bsf r11, rsi
    holds r11
    bsr r11, rsi
    holds r11
    bsf rbx, rsi
    bsr rcx, rsi
    bsf r11, [rip + zeros]                  # expect: L zeros,8
    bsr r11w, [rip + zeros]                 # expect: L zeros,2
    holds r11
    rdsspq r11
    holds r11
    mov esi, 8
    bsf r11, rsi
    same(r11, 3)
    holds rax, rbx, rcx, rdx
END
