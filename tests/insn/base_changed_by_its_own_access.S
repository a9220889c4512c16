/* SPDX-License-Identifier: MIT */
/* An instruction that changes its own base or index uses the old value. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    movzx ebx, byte ptr [rbx + 8]           # expect: L data+8,1
    movzx ebx, byte ptr [rbx*2 + data]      # expect: L data+16,1
    same(rbx, 16)
    xadd [rbx + zeros], rbx                 # expect: M zeros+16,8
    same(rbx, 0)
    lea rax, [rip + data]
    xchg rax, [rax]                         # expect: M data,8
    same_q(rax, 0x0706050403020100)
    lea rcx, [rip + zeros]
    push rcx                                # expect: S stack-8,8
    pop qword ptr [rcx]                     # expect: L stack-8,8 ; S zeros,8
    lea rdx, [rip + data + 8]
    imul rdx, [rdx], 1                      # expect: L data+8,8
    same_q(rdx, 0x0f0e0d0c0b0a0908)
CHECK
    same(qword ptr [rip + data], offset data)
END
