/* SPDX-License-Identifier: MIT */
/* Jumps and calls with a 32-bit displacement go forward and back. */
#include "case.h"
CASE
    jmp ahead
back:
    call function                           # expect: S stack-8,8
    xor eax, eax
    jz out
    .skip 4096, 0xcc
function:
    ret                                     # expect: L stack-8,8
ahead:
    xor eax, eax
    jz back
    .skip 4096, 0xcc
out:
END
