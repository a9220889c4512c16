/* SPDX-License-Identifier: MIT */
/* A jump into code that was already run from an earlier point uses the registers of now. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov ecx, 3
    mov al, [rbx]                           # expect: L data,1
    mov al, [rbx + 4]                       # expect: L data+4,1
middle:
    mov al, [rbx + 8]                       # expect*3: L data+8+64*n,1
    mov al, [rbx + 12]                      # expect*3: L data+12+64*n,1
    push rbx                                # expect: S stack-8,8 | S stack-136,8 | S stack-264,8
    sub rsp, 120
    add rbx, 64
    dec ecx
    jnz middle
    same(rsp, offset stack - 384)
END
