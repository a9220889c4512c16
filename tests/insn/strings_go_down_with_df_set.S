/* SPDX-License-Identifier: MIT */
/* With the direction flag set a string instruction goes to lower addresses. */
#include "case.h"
CASE
    lea rsi, [rip + data + 64]
    lea rdi, [rip + zeros + 64]
    std
    movsd                                   # expect: L data+64,4 ; S zeros+64,4
    mov ecx, 3
    rep movsq                               # expect: [i=0..2] L data+60-8*i,8 ; S zeros+60-8*i,8
    same(rsi, offset data + 36)
    mov ecx, 2
    rep stosw                               # expect: [i=0..1] S zeros+36-2*i,2
    lodsb                                   # expect: L data+36,1
    scasb                                   # expect: L zeros+32,1
    lea rdi, [rip + data + 291]
    mov ecx, 9
    repe cmpsb                              # expect: [i=0..8] L data+35-i,1 ; L data+291-i,1
    cld
    same(rcx, 0)
    same(rsi, offset data + 26)
    movsb                                   # expect: L data+26,1 ; S data+282,1
    same(rsi, offset data + 27)
END
