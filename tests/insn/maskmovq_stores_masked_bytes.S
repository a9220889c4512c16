/* SPDX-License-Identifier: MIT */
/* maskmovq stores each byte at rdi whose mask byte has its top bit set, wherever the top of the x87 stack is. */
#include "case.h"
CASE
    lea rdi, [rip + zeros]
    movq mm0, [rip + data + 16]             # expect: L data+16,8
    movq mm1, [rip + mask]                  # expect: L mask,8
    maskmovq mm0, mm1                       # expect: [i=1,6] S zeros+i,1
    # Each maskmovq leaves the top at 0; here it finds it at 7, 6, ... 1.
    mov ecx, 7
1:  mov eax, ecx
2:  fincstp
    dec eax
    jnz 2b
    maskmovq mm0, mm1                       # expect*7: [i=1,6] S zeros+i,1
    dec ecx
    jnz 1b
    emms
CHECK
    same(byte ptr [rip + zeros + 6], 22)
    same(byte ptr [rip + zeros + 7], 0)
END
    .data
mask:
    .byte 0x7f, 0x80, 0, 0, 0, 0, -1, 1
