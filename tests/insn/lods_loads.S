/* SPDX-License-Identifier: MIT */
/* lods loads al, ax, eax or rax at rsi and steps it. */
#include "case.h"
CASE
    lea rsi, [rip + data]
    xor eax, eax
    lodsb                                   # expect: L data,1
    same(rax, 0)
    lodsw                                   # expect: L data+1,2
    same(rax, 0x0201)
    lodsd                                   # expect: L data+3,4
    same(rax, 0x06050403)
    lodsq                                   # expect: L data+7,8
    same_q(rax, 0x0e0d0c0b0a090807)
    same(rsi, offset data + 15)
END
