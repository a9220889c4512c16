/* SPDX-License-Identifier: MIT */
/* loope and loopne stop at the count or at the other zero flag. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov ecx, 10
first:
    inc rbx
    cmp byte ptr [rbx], 3                   # expect*3: L data+1+n,1
    loopne first
    same(rcx, 7)
    lea rbx, [rip + zeros]
    mov ecx, 3
second:
    cmp byte ptr [rbx], 0                   # expect*3: L zeros,1
    loope second
    same(rcx, 0)
    mov ecx, 5
    cmp ecx, 4
    loope fail
    same(rcx, 4)
END
