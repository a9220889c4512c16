/* SPDX-License-Identifier: MIT */
/* A switch through a table loads one entry for each turn and goes where it says. */
#include "case.h"
CASE
    lea rbx, [rip + table]
    mov ecx, 4
    xor eax, eax
top:
    dec ecx
    js done
    movsxd rdx, dword ptr [rbx + rcx*4]     # expect*4: L table+12-4*n,4
    add rdx, rbx
    jmp rdx
zero:
    shl eax, 4
    jmp top
one:
    lea eax, [rax*8 + 1]
    jmp top
two:
    lea eax, [rax*8 + 2]
    jmp top
done:
    same(eax, ((1 * 8 + 2) * 8 + 1) << 4)
END
    .data
table:
    .long zero - table, one - table, two - table, one - table
