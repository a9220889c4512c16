/* SPDX-License-Identifier: MIT */
/* cmov with a memory operand loads it whether or not the condition holds. */
#include "case.h"
CASE
    mov eax, 1
    xor ecx, ecx
    cmovnz eax, [rip + data + 4]            # expect: L data+4,4
    same(rax, 1)
    xor ecx, ecx
    cmovz eax, [rip + data + 4]             # expect: L data+4,4
    same(rax, 0x07060504)
    xor ecx, ecx
    cmovc rax, [rip + data + 8]             # expect: L data+8,8
    same(rax, 0x07060504)
    stc
    cmovc ax, [rip + data + 8]              # expect: L data+8,2
    same(rax, 0x07060908)
    mov rdx, -1
    stc
    cmovnc edx, [rip + data]                # expect: L data,4
    same_q(rdx, 0xffffffff)
END
