/* SPDX-License-Identifier: MIT */
/* With a 67h prefix strings use esi, edi and ecx, and clear the upper halves. */
#include "case.h"
CASE
    movabs rsi, offset data + 0x1111111100000000
    movabs rdi, offset zeros + 0x2222222200000000
    movabs rcx, 0x3333333300000003
    # expect: [i=0..2] L data+4*i,4 ; S zeros+4*i,4
    rep movs dword ptr [edi], dword ptr [esi]
    same(rsi, offset data + 12)
    same(rdi, offset zeros + 12)
    same(rcx, 0)
    movabs rdi, offset zeros + 0x2222222200000000
    stos byte ptr [edi]                     # expect: S zeros,1
    same(rdi, offset zeros + 1)
    movabs rsi, offset data + 0x1111111100000000
    lods byte ptr [esi]                     # expect: L data,1
    same(rsi, offset data + 1)
END
