/* SPDX-License-Identifier: MIT */
/* rep stos is one instruction with a store for each iteration. */
#include "case.h"
CASE
    lea rdi, [rip + zeros]
    mov eax, -1
    mov ecx, 5
    rep stosb                               # expect: [i=0..4] S zeros+i,1
    mov ecx, 4
    rep stosq                               # expect: [i=0..3] S zeros+5+8*i,8
    mov ecx, 3
    rep stosw                               # expect: [i=0..2] S zeros+37+2*i,2
    mov ecx, 2
    rep stosd                               # expect: [i=0..1] S zeros+43+4*i,4
    same(rcx, 0)
    same(rdi, offset zeros + 51)
CHECK
    same(word ptr [rip + zeros + 50], 0xff)
END
