/* SPDX-License-Identifier: MIT */
/* Die of a store to address 0. */
    .globl _start
    .text
_start:
    xor %eax, %eax
    mov %eax, (%rax)
