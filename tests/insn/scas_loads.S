/* SPDX-License-Identifier: MIT */
/* scas loads at rdi and compares with al, ax, eax or rax. */
#include "case.h"
CASE
    lea rdi, [rip + data]
    mov eax, 0
    scasb                                   # expect: L data,1
    sete cl
    mov eax, 0x0201
    scasw                                   # expect: L data+1,2
    sete dl
    scasd                                   # expect: L data+3,4
    sete bl
    scasq                                   # expect: L data+7,8
    same(cl, 1)
    same(dl, 1)
    same(bl, 0)
    same(rdi, offset data + 15)
END
