/* SPDX-License-Identifier: MIT */
/* repe cmps stops after the first difference, and that pair is read. */
#include "case.h"
CASE
    lea rsi, [rip + data]
    lea rdi, [rip + data + 256]
    mov byte ptr [rdi + 3], 0               # expect: S data+259,1
    mov ecx, 10
    repe cmpsb                              # expect: [i=0..3] L data+i,1 ; L data+256+i,1
    seta al
    same(rcx, 6)
    same(al, 1)
    same(rsi, offset data + 4)
    same(rdi, offset data + 260)
END
