/* SPDX-License-Identifier: MIT */
/* A rep movs of a thousand iterations is one instruction, however often it is interrupted. */
#include "case.h"
CASE
    lea rsi, [rip + data]
    lea rdi, [rip + zeros]
    mov ecx, 1000
    rep movsb                               # expect: [i=0..999] L data+i,1 ; S zeros+i,1
    same(rcx, 0)
    same(rsi, offset data + 1000)
CHECK
    same(byte ptr [rip + zeros + 999], 999 & 255)
    same(byte ptr [rip + zeros + 1000], 0)
END
