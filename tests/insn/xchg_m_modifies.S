/* SPDX-License-Identifier: MIT */
/* xchg with memory is a modify, with or without lock. */
#include "case.h"
CASE
    fill rax
    xchg [rip + data], al                   # expect: M data,1
    same(al, 0)
    xchg ax, [rip + data + 2]               # expect: M data+2,2
    lock xchg [rip + data + 4], eax         # expect: M data+4,4
    same(rax, 0x07060504)
    xchg rax, [rip + data + 8]              # expect: M data+8,8
    same_q(rax, 0x0f0e0d0c0b0a0908)
    xchg rax, rcx                           # expect: none
END
