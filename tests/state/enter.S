/* SPDX-License-Identifier: MIT */
/* Into a sequence with every register loaded, and out of it with every register stored.
 *
 * All addresses are absolute: no register is free on the way in or out. A sequence ends with a jump
 * to state_leave; where one faults, the signal handler goes on at state_abort. */
#include "machine.h"

#define IN(x)   IN_AT + (x)
#define OUT(x)  OUT_AT + (x)
#define HOST(x) HOST_AT + (x)

    .section .note.GNU-stack, "", @progbits
    .text

.macro each_low do
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    \do \n
    .endr
.endm
.macro each_high do
    .irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    \do \n
    .endr
.endm
.macro load_y n
    vmovdqu IN(S_VECTOR + 64 * \n), %ymm\n
.endm
.macro load_z n
    vmovdqu64 IN(S_VECTOR + 64 * \n), %zmm\n
.endm
.macro store_y n
    vmovdqu %ymm\n, OUT(S_VECTOR + 64 * \n)
.endm
.macro store_z n
    vmovdqu64 %zmm\n, OUT(S_VECTOR + 64 * \n)
.endm

/* int state_enter(void): 0 when the sequence came to its end. */
    .globl state_enter
state_enter:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, HOST(H_RSP)
    rdfsbase %rax
    mov %rax, HOST(H_FS)
    stmxcsr HOST(H_MXCSR)
    mov IN(S_FS), %rax
    wrfsbase %rax
    mov IN(S_GS), %rax
    wrgsbase %rax
    fxrstor64 IN(S_FX)
    cmpl $1, HOST(H_LEVEL)
    jb 1f
    ja 2f
    each_low load_y
    jmp 1f
2:  each_low load_z
    each_high load_z
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    kmovq IN(S_K + 8 * \n), %k\n
    .endr
1:  push IN(S_FLAGS)
    popf
    mov IN(0x00), %rax
    mov IN(0x08), %rcx
    mov IN(0x10), %rdx
    mov IN(0x18), %rbx
    mov IN(0x20), %rsp
    mov IN(0x28), %rbp
    mov IN(0x30), %rsi
    mov IN(0x38), %rdi
    mov IN(0x40), %r8
    mov IN(0x48), %r9
    mov IN(0x50), %r10
    mov IN(0x58), %r11
    mov IN(0x60), %r12
    mov IN(0x68), %r13
    mov IN(0x70), %r14
    mov IN(0x78), %r15
    jmp *IN(S_TARGET)

    .globl state_leave
state_leave:
    mov %rsp, OUT(0x20)
    mov HOST(H_RSP), %rsp
    pushf
    pop OUT(S_FLAGS)
    cld
    mov %rax, OUT(0x00)
    mov %rcx, OUT(0x08)
    mov %rdx, OUT(0x10)
    mov %rbx, OUT(0x18)
    mov %rbp, OUT(0x28)
    mov %rsi, OUT(0x30)
    mov %rdi, OUT(0x38)
    mov %r8, OUT(0x40)
    mov %r9, OUT(0x48)
    mov %r10, OUT(0x50)
    mov %r11, OUT(0x58)
    mov %r12, OUT(0x60)
    mov %r13, OUT(0x68)
    mov %r14, OUT(0x70)
    mov %r15, OUT(0x78)
    rdfsbase %rax
    mov %rax, OUT(S_FS)
    rdgsbase %rax
    mov %rax, OUT(S_GS)
    fxsave64 OUT(S_FX)
    cmpl $1, HOST(H_LEVEL)
    jb 1f
    ja 2f
    each_low store_y
    jmp 1f
2:  each_low store_z
    each_high store_z
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    kmovq %k\n, OUT(S_K + 8 * \n)
    .endr
1:  xor %eax, %eax
    jmp back

    .globl state_abort
state_abort:
    mov HOST(H_RSP), %rsp
    cld
    mov $1, %eax
back:
    mov HOST(H_FS), %rcx
    wrfsbase %rcx
    fninit
    ldmxcsr HOST(H_MXCSR)
    cmpl $0, HOST(H_LEVEL)
    je 1f
    vzeroupper
1:  pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
