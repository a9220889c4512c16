/* SPDX-License-Identifier: MIT */
/* Each general register can be the base of a chain of pointers. */
#include "case.h"
SETUP
    .irp k, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    lea rax, [rip + zeros + 16 * \k + 16]
    mov [rip + zeros + 16 * \k], rax
    .endr
    lea rax, [rip + zeros]
BEGIN
    mov rcx, [rax]                          # expect: L zeros+0x00,8
    mov rdx, [rcx]                          # expect: L zeros+0x10,8
    mov rbx, [rdx]                          # expect: L zeros+0x20,8
    mov rsp, [rbx]                          # expect: L zeros+0x30,8
    mov rbp, [rsp]                          # expect: L zeros+0x40,8
    mov rsi, [rbp]                          # expect: L zeros+0x50,8
    mov rdi, [rsi]                          # expect: L zeros+0x60,8
    mov r8, [rdi]                           # expect: L zeros+0x70,8
    mov r9, [r8]                            # expect: L zeros+0x80,8
    mov r10, [r9]                           # expect: L zeros+0x90,8
    mov r11, [r10]                          # expect: L zeros+0xa0,8
    mov r12, [r11]                          # expect: L zeros+0xb0,8
    mov r13, [r12]                          # expect: L zeros+0xc0,8
    mov r14, [r13]                          # expect: L zeros+0xd0,8
    mov r15, [r14]                          # expect: L zeros+0xe0,8
    mov rax, [r15]                          # expect: L zeros+0xf0,8
    same(rax, offset zeros + 0x100)
END
