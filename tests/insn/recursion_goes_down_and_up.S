/* SPDX-License-Identifier: MIT */
/* A recursive function stores and loads a return address at each depth. */
#include "case.h"
CASE
    mov ecx, 5
    xor eax, eax
    call f                                  # expect: S stack-8,8
    same(eax, 15)
    same(rsp, offset stack)
    jmp done
f:
    add eax, ecx
    dec ecx
    jz bottom
    call f                                  # expect*4: S stack-16-8*n,8
bottom:
    ret                                     # expect*5: L stack-40+8*n,8
done:
END
