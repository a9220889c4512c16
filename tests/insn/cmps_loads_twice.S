/* SPDX-License-Identifier: MIT */
/* cmps loads at rsi, then at rdi, and sets the flags of their difference. */
#include "case.h"
CASE
    lea rsi, [rip + data]
    lea rdi, [rip + data + 256]
    cmpsb                                   # expect: L data,1 ; L data+256,1
    sete al
    cmpsw                                   # expect: L data+1,2 ; L data+257,2
    sete cl
    cmpsd                                   # expect: L data+3,4 ; L data+259,4
    sete dl
    dec rdi
    cmpsq                                   # expect: L data+7,8 ; L data+262,8
    seta bl
    same(al, 1)
    same(cl, 1)
    same(dl, 1)
    same(bl, 1)
    same(rsi, offset data + 15)
    same(rdi, offset data + 270)
END
