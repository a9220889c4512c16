/* SPDX-License-Identifier: MIT */
/* r12 is a base like rsp's code but an index too. */
#include "case.h"
CASE
    lea r12, [rip + data]
    mov al, [r12]                           # expect: L data,1
    mov cl, [r12 + 5]                       # expect: L data+5,1
    mov ebx, 4
    mov dl, [r12 + rbx*2]                   # expect: L data+8,1
    lea rbx, [rip + data]
    mov r12d, 3
    mov sil, [rbx + r12*8]                  # expect: L data+24,1
    same(al, 0)
    same(cl, 5)
    same(dl, 8)
    same(sil, 24)
END
