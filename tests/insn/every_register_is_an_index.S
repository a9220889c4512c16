/* SPDX-License-Identifier: MIT */
/* Each general register but rsp can be an index. */
#include "case.h"
CASE
    fill rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    mov al, [rax + data + 0x12340001]       # expect: L data,1
    mov cl, [rcx*1 + data + 0x12340002 + 1] # expect: L data+1,1
    mov dl, [rdx*2 + data + 0x24680006 + 2] # expect: L data+2,1
    mov bl, [rbx*4 + data + 0x48d00010 + 3] # expect: L data+3,1
    mov bpl, [rbp*1 + data + 0x12340005 + 4] # expect: L data+4,1
    mov sil, [rsi*2 + data + 0x2468000c + 5] # expect: L data+5,1
    mov dil, [rdi*4 + data + 0x48d0001c + 6] # expect: L data+6,1
    mov r8b, [r8*1 + data + 0x12340008 + 7] # expect: L data+7,1
    mov r9b, [r9*2 + data + 0x24680012 + 8] # expect: L data+8,1
    mov r10b, [r10*4 + data + 0x48d00028 + 9] # expect: L data+9,1
    mov r11b, [r11*2 + data + 0x24680016 + 10] # expect: L data+10,1
    mov r12b, [r12*4 + data + 0x48d00030 + 11] # expect: L data+11,1
    mov r13b, [r13*1 + data + 0x1234000d + 12] # expect: L data+12,1
    mov r14b, [r14*2 + data + 0x2468001c + 13] # expect: L data+13,1
    mov r15b, [r15*4 + data + 0x48d0003c + 14] # expect: L data+14,1
    same(al, 0)
    same(cl, 1)
    same(dl, 2)
    same(bl, 3)
    same(bpl, 4)
    same(sil, 5)
    same(dil, 6)
    same(r8b, 7)
    same(r9b, 8)
    same(r10b, 9)
    same(r11b, 10)
    same(r12b, 11)
    same(r13b, 12)
    same(r14b, 13)
    same(r15b, 14)
END
