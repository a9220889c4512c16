/* SPDX-License-Identifier: MIT */
/* A failed cmpxchg is a modify too, and loads the accumulator. */
#include "case.h"
CASE
    mov rax, -1
    mov ecx, 5
    cmpxchg [rip + data + 4], ecx           # expect: M data+4,4
    je fail
    same(rax, 0x07060504)
    mov rax, -1
    lock cmpxchg [rip + data + 8], rcx      # expect: M data+8,8
    je fail
    same_q(rax, 0x0f0e0d0c0b0a0908)
CHECK
    same(dword ptr [rip + data + 4], 0x07060504)
END
