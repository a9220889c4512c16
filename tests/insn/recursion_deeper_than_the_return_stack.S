/* SPDX-License-Identifier: MIT */
/* A hundred nested calls return in order, and each return goes to its own caller. */
#include "case.h"
CASE
    mov ecx, 100
    xor eax, eax
    call f                                  # expect: S stack-8,8
    same(eax, 100 + 100 * 0x100)
    same(rsp, offset stack)
    jmp done
f:
    inc eax
    dec ecx
    jz bottom
    test cl, 1
    jz other
    call f                                  # expect*50: S stack-16-16*n,8
    add eax, 0x100
    ret                                     # expect*50: L stack-792+16*n,8
other:
    call f                                  # expect*49: S stack-24-16*n,8
    add eax, 0x100
    ret                                     # expect*49: L stack-784+16*n,8
bottom:
    add eax, 0x100
    ret                                     # expect: L stack-800,8
done:
END
