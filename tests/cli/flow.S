/* SPDX-License-Identifier: MIT */
/* Every kind of branch, so often that all that gait formats counts is known by hand:
 *
 * instructions  3 + 1 + 5 * (2 + 3 + 2) + (2 + 3) + 1 + 5 + 4 + 1 + 3 = 58
 * blocks        _start 1, five 1, again 4, leaf 5 + 1, behind the call 5, through 1, the jump 1, there 1, spin 3, the jump out 1,
 *               out 1: 25, of which 11 are different
 * conditional   1 + 5 + 4 = 10
 * targets       the beginning, 6 returns, a call, a jump = 9
 * references    calls 5 + 1, leaf 3 * 6, the jump's load 1, movsb 2 * 8 = 41
 * registers     rsp for each of the 24 that use the stack, for each changes it; rsi, rdi and rcx of the rep = 27 */
    .globl _start
    .text
_start:
    xor %r12d, %r12d
    test %r12d, %r12d
    jnz out
five:
    mov $5, %ebx
again:
    mov %rbx, %rdi
    call leaf
    dec %ebx
    jnz again
through:
    lea leaf(%rip), %rax
    call *%rax
    jmp *pointer(%rip)
there:
    lea data(%rip), %rsi
    lea data+16(%rip), %rdi
    mov $8, %ecx
    rep movsb
    mov $4, %ecx
spin:
    loop spin
    jmp out
leaf:
    push %rbx
    pop %rbx
    ret
out:
    mov $60, %eax
    xor %edi, %edi
    syscall
    .data
pointer:
    .quad there
data:
    .skip 32
