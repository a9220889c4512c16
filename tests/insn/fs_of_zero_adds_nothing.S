/* SPDX-License-Identifier: MIT */
/* A program starts with an fs base of zero. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov al, fs:[rbx + 3]                    # expect: L data+3,1
    same(al, 3)
    mov cl, fs:[data + 4]                   # expect: L data+4,1
    same(cl, 4)
END
