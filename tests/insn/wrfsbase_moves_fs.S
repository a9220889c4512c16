/* SPDX-License-Identifier: MIT */
/* wrfsbase moves what fs addresses; rdfsbase tells it. */
# needs: fsgsbase
#include "case.h"
CASE
    lea rax, [rip + data + 32]
    wrfsbase rax
    mov cl, fs:[1]                          # expect: L data+33,1
    same(cl, 33)
    add rax, 32
    wrfsbase rax
    mov cl, fs:[1]                          # expect: L data+65,1
    same(cl, 65)
    rdfsbase rdx
    same(rdx, offset data + 64)
    xor eax, eax
    wrfsbase rax
END
