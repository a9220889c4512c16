/* SPDX-License-Identifier: MIT */
/* With a 67h prefix the sum is taken modulo 2 to the 32nd. */
#include "case.h"
CASE
    lea ebx, [rip + data]
    xor ebx, 0x80000000
    mov ecx, 0x80000000
    mov al, [ebx + ecx + 3]                 # expect: L data+3,1
    same(al, 3)
    mov edx, -1
    mov al, [edx*8 + data + 16]             # expect: L data+8,1
    same(al, 8)
END
