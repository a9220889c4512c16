/* SPDX-License-Identifier: MIT */
/* bt m, r reads the word that holds the bit, above the operand. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov ecx, 31
    bt [rbx], cx                            # expect: L data+2,2
    bt [rbx], ecx                           # expect: L data,4
    bt [rbx], rcx                           # expect: L data,8
    mov ecx, 64 + 3
    bt [rbx], cx                            # expect: L data+8,2
    setc al
    bt [rbx], ecx                           # expect: L data+8,4
    setc dl
    bt [rbx], rcx                           # expect: L data+8,8
    setc sil
    same(al, 1)
    same(dl, 1)
    same(sil, 1)
END
