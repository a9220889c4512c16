/* SPDX-License-Identifier: MIT */
/* A rep string instruction with rcx zero is executed and touches nothing. */
#include "case.h"
CASE
    fill rsi, rdi, rax
    xor ecx, ecx
    rep movsb                               # expect: none
    rep stosq                               # expect: none
    rep lodsd                               # expect: none
    repe cmpsb                              # expect: none
    repne scasw                             # expect: none
    sete dl
    same(dl, 1)
    holds rsi, rdi, rax
    same(rcx, 0)
END
