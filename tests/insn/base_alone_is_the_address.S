/* SPDX-License-Identifier: MIT */
/* A base register alone is the address, for every size of load and store. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    lea rsi, [rip + zeros]
    mov al, [rbx]                           # expect: L data,1
    mov [rsi], al                           # expect: S zeros,1
    mov ax, [rbx]                           # expect: L data,2
    mov [rsi], ax                           # expect: S zeros,2
    mov eax, [rbx]                          # expect: L data,4
    mov [rsi], eax                          # expect: S zeros,4
    mov rax, [rbx]                          # expect: L data,8
    mov [rsi], rax                          # expect: S zeros,8
CHECK
    same_q(rax, 0x0706050403020100)
    same([rip + zeros], rax)
END
