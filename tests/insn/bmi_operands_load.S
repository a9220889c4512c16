/* SPDX-License-Identifier: MIT */
/* The BMI instructions load their memory operand. */
# needs: bmi1 bmi2
#include "case.h"
CASE
    mov rax, -1
    andn ecx, eax, [rip + data + 4]         # expect: L data+4,4
    same(ecx, 0)
    blsi rcx, [rip + data + 8]              # expect: L data+8,8
    same(rcx, 8)
    blsmsk ecx, [rip + data + 4]            # expect: L data+4,4
    same(ecx, 7)
    mov edx, 4
    shrx ecx, [rip + data + 4], edx         # expect: L data+4,4
    same(ecx, 0x00706050)
    bzhi ecx, [rip + data + 4], edx         # expect: L data+4,4
    same(ecx, 4)
    rorx rcx, [rip + data + 8], 8           # expect: L data+8,8
    same_q(rcx, 0x080f0e0d0c0b0a09)
    mulx rcx, rdx, [rip + data + 8]         # expect: L data+8,8
    pdep ecx, eax, [rip + data + 4]         # expect: L data+4,4
    same(ecx, 0x07060504)
END
