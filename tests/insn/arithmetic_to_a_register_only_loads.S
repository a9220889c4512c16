/* SPDX-License-Identifier: MIT */
/* Arithmetic into a register loads its memory operand. */
#include "case.h"
CASE
    xor eax, eax
    stc
    adc eax, [rip + data + 4]               # expect: L data+4,4
    same(eax, 0x07060505)
    sub al, [rip + data + 5]                # expect: L data+5,1
    same(al, 0)
    stc
    sbb rax, [rip + zeros]                  # expect: L zeros,8
    and ax, [rip + data + 2]                # expect: L data+2,2
    or rcx, [rip + data + 8]                # expect: L data+8,8
    same_q(rcx, 0x0f0e0d0c0b0a0908)
    xor ecx, [rip + data + 8]               # expect: L data+8,4
    same(rcx, 0)
END
