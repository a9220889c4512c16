/* SPDX-License-Identifier: MIT */
/* A register made from another by mov or lea keeps its value when that one changes. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov edx, 2
    mov rcx, rbx
    lea rsi, [rbx + rdx*8 + 4]
    lea r11, [rbx + 32]
    mov al, [rbx]                           # expect: L data,1
    add rbx, 64
    mov al, [rcx]                           # expect: L data,1
    mov edx, 5
    mov al, [rsi]                           # expect: L data+20,1
    mov al, [rsi + rdx*8]                   # expect: L data+60,1
    mov al, [r11]                           # expect: L data+32,1
    mov r11, rbx
    mov al, [r11 + 1]                       # expect: L data+65,1
    xor ebx, ebx
    mov al, [r11 + 2]                       # expect: L data+66,1
    mov al, [rbx + data + 3]                # expect: L data+3,1
    mov rbx, rsp
    push rax                                # expect: S stack-8,8
    mov [rbx], rax                          # expect: S stack,8
    lea rdi, [rsp + 4]
    sub rsp, 64
    mov [rdi], al                           # expect: S stack-4,1
    mov rsp, rbx
    push rax                                # expect: S stack-8,8
END
