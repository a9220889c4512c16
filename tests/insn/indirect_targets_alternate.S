/* SPDX-License-Identifier: MIT */
/* An indirect jump that goes two ways in turn is followed each time. */
#include "case.h"
CASE
    mov ecx, 8
    xor eax, eax
each:
    mov edx, ecx
    and edx, 1
    jmp [rdx*8 + table]                     # expect*8: L table+8*(n%2),8
even:
    add eax, 1
    jmp join
odd:
    add eax, 0x10
join:
    dec ecx
    jnz each
    same(eax, 0x44)
END
    .data
table:
    .quad even, odd
