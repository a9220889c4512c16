/* SPDX-License-Identifier: MIT */
/* A base register changed on one of two paths is right where they join. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov ecx, 4
each:
    test cl, 1
    jz even
    add rbx, 16
even:
    # expect: L data,1 | L data+16,1 | L data+16,1 | L data+32,1
    mov al, [rbx]
    # expect: L data+1,1 | L data+17,1 | L data+17,1 | L data+33,1
    mov al, [rbx + 1]
    dec ecx
    jnz each
END
