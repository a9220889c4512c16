/* SPDX-License-Identifier: MIT */
/* The a0 to a3 forms of mov carry the whole address as an immediate. */
#include "case.h"
CASE
    movabs al, ds:[data + 1]                # expect: L data+1,1
    same(al, 1)
    movabs ax, ds:[data + 2]                # expect: L data+2,2
    same(ax, 0x0302)
    movabs eax, ds:[data + 4]               # expect: L data+4,4
    same(rax, 0x07060504)
    movabs rax, ds:[data + 8]               # expect: L data+8,8
    same_q(rax, 0x0f0e0d0c0b0a0908)
    movabs ds:[zeros], al                   # expect: S zeros,1
    movabs ds:[zeros + 2], ax               # expect: S zeros+2,2
    movabs ds:[zeros + 4], eax              # expect: S zeros+4,4
    movabs ds:[zeros + 8], rax              # expect: S zeros+8,8
CHECK
    same(dword ptr [rip + zeros], 0x09080008)
    same([rip + zeros + 8], rax)
END
