/* SPDX-License-Identifier: MIT */
/* repe scas stops after the first element that differs. */
#include "case.h"
CASE
    lea rdi, [rip + zeros]
    mov byte ptr [rdi + 20], 1              # expect: S zeros+20,1
    xor eax, eax
    mov ecx, 10
    repe scasq                              # expect: [i=0..2] L zeros+8*i,8
    setne dl
    same(rcx, 7)
    same(dl, 1)
END
