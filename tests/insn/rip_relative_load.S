/* SPDX-License-Identifier: MIT */
/* A rip-relative load counts from the end of the instruction. */
#include "case.h"
CASE
    mov al, [rip + data + 1]                # expect: L data+1,1
    mov bx, [rip + data + 2]                # expect: L data+2,2
    mov ecx, [rip + data + 4]               # expect: L data+4,4
    mov rdx, [rip + data - 8]               # expect: L data-8,8
    movzx esi, byte ptr [rip + data + 200]  # expect: L data+200,1
    same(al, 1)
    same(bx, 0x0302)
    same(ecx, 0x07060504)
    same_q(rdx, 0xfffefdfcfbfaf9f8)
    same(esi, 200)
END
