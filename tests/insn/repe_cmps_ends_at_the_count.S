/* SPDX-License-Identifier: MIT */
/* repe cmps of equal strings reads as many pairs as rcx says. */
#include "case.h"
CASE
    lea rsi, [rip + data]
    lea rdi, [rip + data + 256]
    mov ecx, 3
    repe cmpsq                              # expect: [i=0..2] L data+8*i,8 ; L data+256+8*i,8
    sete al
    same(rcx, 0)
    same(al, 1)
END
