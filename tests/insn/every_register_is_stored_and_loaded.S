/* SPDX-License-Identifier: MIT */
/* Each general register can be the value and the address of a store and a load. */
#include "case.h"
CASE
    fill rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    mov [rip + zeros + 0x00], rax           # expect: S zeros+0x00,8
    mov [rip + zeros + 0x08], rcx           # expect: S zeros+0x08,8
    mov [rip + zeros + 0x10], rdx           # expect: S zeros+0x10,8
    mov [rip + zeros + 0x18], rbx           # expect: S zeros+0x18,8
    mov [rip + zeros + 0x20], rsp           # expect: S zeros+0x20,8
    mov [rip + zeros + 0x28], rbp           # expect: S zeros+0x28,8
    mov [rip + zeros + 0x30], rsi           # expect: S zeros+0x30,8
    mov [rip + zeros + 0x38], rdi           # expect: S zeros+0x38,8
    mov [rip + zeros + 0x40], r8            # expect: S zeros+0x40,8
    mov [rip + zeros + 0x48], r9            # expect: S zeros+0x48,8
    mov [rip + zeros + 0x50], r10           # expect: S zeros+0x50,8
    mov [rip + zeros + 0x58], r11           # expect: S zeros+0x58,8
    mov [rip + zeros + 0x60], r12           # expect: S zeros+0x60,8
    mov [rip + zeros + 0x68], r13           # expect: S zeros+0x68,8
    mov [rip + zeros + 0x70], r14           # expect: S zeros+0x70,8
    mov [rip + zeros + 0x78], r15           # expect: S zeros+0x78,8
    lea rax, [rip + zeros]
    mov rcx, [rax + 0x00]                   # expect: L zeros+0x00,8
    mov rdx, [rax + 0x08]                   # expect: L zeros+0x08,8
    mov rbx, [rax + 0x10]                   # expect: L zeros+0x10,8
    mov rbp, [rax + 0x18]                   # expect: L zeros+0x18,8
    mov rsi, [rax + 0x28]                   # expect: L zeros+0x28,8
    mov rdi, [rax + 0x30]                   # expect: L zeros+0x30,8
    mov r8, [rax + 0x38]                    # expect: L zeros+0x38,8
    mov r9, [rax + 0x40]                    # expect: L zeros+0x40,8
    mov r10, [rax + 0x48]                   # expect: L zeros+0x48,8
    mov r11, [rax + 0x50]                   # expect: L zeros+0x50,8
    mov r12, [rax + 0x58]                   # expect: L zeros+0x58,8
    mov r13, [rax + 0x60]                   # expect: L zeros+0x60,8
    mov r14, [rax + 0x68]                   # expect: L zeros+0x68,8
    mov r15, [rax + 0x70]                   # expect: L zeros+0x70,8
    mov rax, [rax + 0x78]                   # expect: L zeros+0x78,8
    same(rcx, canary_rax)
    same(rdx, canary_rcx)
    same(rbx, canary_rdx)
    same(rbp, canary_rbx)
    same(rsi, canary_rbp)
    same(rdi, canary_rsi)
    same(r8, canary_rdi)
    same(r9, canary_r8)
    same(r10, canary_r9)
    same(r11, canary_r10)
    same(r12, canary_r11)
    same(r13, canary_r12)
    same(r14, canary_r13)
    same(r15, canary_r14)
    same(rax, canary_r15)
CHECK
    same(rsp, [rip + zeros + 0x20])
END
