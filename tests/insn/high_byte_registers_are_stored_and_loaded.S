/* SPDX-License-Identifier: MIT */
/* ah, bh, ch and dh move one byte, and leave the rest of the register. */
#include "case.h"
CASE
    lea rsi, [rip + data]
    fill rax, rcx, rdx, rbx
    mov ah, [rsi + 1]                       # expect: L data+1,1
    mov ch, [rsi + 2]                       # expect: L data+2,1
    mov dh, [rip + data + 3]                # expect: L data+3,1
    mov bh, [rip + data + 4]                # expect: L data+4,1
    mov [rip + zeros], ah                   # expect: S zeros,1
    mov [rip + zeros + 1], bh               # expect: S zeros+1,1
    add ch, [rip + data + 5]                # expect: L data+5,1
    same(rax, (canary_rax & ~0xff00) | 0x100)
    same(rcx, (canary_rcx & ~0xff00) | 0x700)
    same(rdx, (canary_rdx & ~0xff00) | 0x300)
    same(rbx, (canary_rbx & ~0xff00) | 0x400)
CHECK
    same(word ptr [rip + zeros], 0x0401)
END
