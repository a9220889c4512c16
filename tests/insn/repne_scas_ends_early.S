/* SPDX-License-Identifier: MIT */
/* repne scas stops after the element it looks for. */
#include "case.h"
CASE
    lea rdi, [rip + data]
    mov al, 5
    mov rcx, -1
    repne scasb                             # expect: [i=0..5] L data+i,1
    sete dl
    not rcx
    same(rcx, 6)
    same(dl, 1)
    same(rdi, offset data + 6)
END
