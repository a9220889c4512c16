/* SPDX-License-Identifier: MIT */
/* A REX byte that is not right before the opcode has no effect. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov rax, -1
    .byte 0x48, 0x66; mov eax, [rbx]        # expect: L data,2
    same(rax, -65536 + 0x0100)
    .byte 0x66; mov rax, [rbx]              # expect: L data,8
    same_q(rax, 0x0706050403020100)
    mov rsi, rbx
    mov ecx, 2
    .byte 0x48; rep lodsd                   # expect: [i=0..1] L data+4*i,4
    sub rsi, rbx
    same(rsi, 8)
END
