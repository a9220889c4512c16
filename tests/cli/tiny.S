/* SPDX-License-Identifier: MIT */
/* A short life with loads, stores, calls and two system calls; small enough to damage its trace everywhere. */
    .globl _start
    .text
_start:
    mov $40, %ebx
again:
    call step
    dec %ebx
    jnz again
    mov $1, %eax
    mov $1, %edi
    lea word(%rip), %rsi
    mov $5, %edx
    syscall
    mov $60, %eax
    xor %edi, %edi
    syscall
step:
    push %rbx
    lea table(%rip), %rsi
    mov (%rsi,%rbx,8), %rax
    add %rbx, %rax
    mov %rax, 8(%rsi,%rbx,8)
    pop %rbx
    ret
    .section .rodata
word:
    .ascii "tiny\n"
    .bss
table:
    .skip 512
