/* SPDX-License-Identifier: MIT */
/* loop decrements rcx and jumps until it is zero. */
#include "case.h"
CASE
    mov ecx, 4
top:
    mov al, [rcx + data]                    # expect*4: L data+4-n,1
    loop top
    same(rcx, 0)
    mov ecx, 1
    loop fail
    dec rcx
    loop there
    ud2                                     # never
there:
    same(rcx, -2)
END
