/* SPDX-License-Identifier: MIT */
/* rbp and r13 as bases with a displacement of zero. */
#include "case.h"
CASE
    lea rbp, [rip + data + 8]
    lea r13, [rip + data + 16]
    mov al, [rbp]                           # expect: L data+8,1
    mov cl, [r13]                           # expect: L data+16,1
    mov edx, 2
    mov bl, [rbp + rdx*4]                   # expect: L data+16,1
    mov sil, [r13 + rdx*8]                  # expect: L data+32,1
    same(al, 8)
    same(cl, 16)
    same(bl, 16)
    same(sil, 32)
END
