/* SPDX-License-Identifier: MIT */
/* movs loads at rsi and stores at rdi, each size, and steps both. */
#include "case.h"
CASE
    fill rax, rcx
    lea rsi, [rip + data]
    lea rdi, [rip + zeros]
    movsb                                   # expect: L data,1 ; S zeros,1
    movsw                                   # expect: L data+1,2 ; S zeros+1,2
    movsd                                   # expect: L data+3,4 ; S zeros+3,4
    movsq                                   # expect: L data+7,8 ; S zeros+7,8
    same(rsi, offset data + 15)
    same(rdi, offset zeros + 15)
    holds rax, rcx
CHECK
    same_q([rip + zeros], 0x0706050403020100)
    same_q([rip + zeros + 7], 0x0e0d0c0b0a090807)
END
