/* SPDX-License-Identifier: MIT */
/* A rep string instruction with rcx one touches what it touches without rep. */
#include "case.h"
CASE
    lea rsi, [rip + data]
    lea rdi, [rip + zeros]
    mov ecx, 1
    rep movsd                               # expect: L data,4 ; S zeros,4
    mov ecx, 1
    rep stosb                               # expect: S zeros+4,1
    mov ecx, 1
    rep lodsq                               # expect: L data+4,8
    same(rcx, 0)
    same(rdi, offset zeros + 5)
END
