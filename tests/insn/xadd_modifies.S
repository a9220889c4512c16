/* SPDX-License-Identifier: MIT */
/* xadd is a modify, of every size. */
#include "case.h"
CASE
    mov rax, 1
    xadd [rip + data], al                   # expect: M data,1
    xadd [rip + data + 2], ax               # expect: M data+2,2
    same(rax, 0x0302)
    lock xadd [rip + data + 4], eax         # expect: M data+4,4
    same(rax, 0x07060504)
    xadd [rip + data + 8], rax              # expect: M data+8,8
    same_q(rax, 0x0f0e0d0c0b0a0908)
CHECK
    same(dword ptr [rip + data], 0x03020101)
    same(dword ptr [rip + data + 4], 0x07060504 + 0x0302)
END
