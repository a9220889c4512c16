/* SPDX-License-Identifier: MIT */
/* rsi, rdi and rcx after string instructions point where these left them. */
#include "case.h"
CASE
    lea rsi, [rip + data]
    lea rdi, [rip + zeros]
    mov al, [rsi]                           # expect: L data,1
    mov [rdi], al                           # expect: S zeros,1
    mov ecx, 5
    rep movsd                               # expect: [i=0..4] L data+4*i,4 ; S zeros+4*i,4
    mov al, [rsi]                           # expect: L data+20,1
    mov [rdi], al                           # expect: S zeros+20,1
    mov al, [rcx + data]                    # expect: L data,1
    std
    stosw                                   # expect: S zeros+20,2
    mov [rdi], al                           # expect: S zeros+18,1
    lea rdi, [rip + data + 9]
    mov al, 7
    mov ecx, 100
    repne scasb                             # expect: [i=9..7] L data+i,1
    cld
    mov al, [rdi]                           # expect: L data+6,1
    mov al, [rcx + data]                    # expect: L data+97,1
    lea rdi, [rsi + 256]
    repe cmpsb                              # expect: [i=20..116] L data+i,1 ; L data+256+i,1
    mov al, [rsi]                           # expect: L data+117,1
    mov al, [rdi]                           # expect: L data+373,1
    mov al, [rcx + data + 1]                # expect: L data+1,1
    same(al, 1)
END
