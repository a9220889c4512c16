/* SPDX-License-Identifier: MIT */
/* An overlapping rep movs reads what it has just written. */
#include "case.h"
CASE
    lea rsi, [rip + data]
    lea rdi, [rip + data + 1]
    mov ecx, 8
    rep movsb                               # expect: [i=0..7] L data+i,1 ; S data+i+1,1
CHECK
    same(qword ptr [rip + data], 0)
    same(byte ptr [rip + data + 8], 0)
    same(byte ptr [rip + data + 9], 9)
END
