/* SPDX-License-Identifier: MIT */
/* ret loads from whatever stack rsp points to. */
#include "case.h"
CASE
    mov rbp, rsp
    lea rsp, [rip + frame]
    ret                                     # expect: L frame,8
    ud2                                     # never
there:
    same(rsp, offset frame + 8)
    ret                                     # expect: L frame+8,8
    ud2                                     # never
again:
    mov rsp, rbp
END
    .data
frame:
    .quad there, again
