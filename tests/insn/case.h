/* SPDX-License-Identifier: MIT */
/* The frame of a case: a stack and data at known addresses, where checking begins and ends, exit.
 *
 *     stack     a stack pointer with 8 KiB of room below and 4 KiB above it, zero at the start
 *     data      8 KiB, and 4 KiB below it; the byte at data+k is k mod 256
 *     zeros     8 KiB of zero bytes, and 4 KiB below it
 *
 * Accesses are compared from `begin` to `end_of_case`. A case exits with 0, with the number of the
 * first `same` that did not hold, or with 77 when it finds that this machine cannot run it.
 */
#define SETUP       .globl _start, begin, end_of_case; _start: lea rsp, [rip + stack]
#define BEGIN       begin:
#define CASE        SETUP; BEGIN
#define CHECK       end_of_case:
#define END         .ifndef end_of_case; CHECK; .endif; \
                    xor edi, edi; fail: mov eax, 231; syscall

#define ARCH_SET_GS 0x1001
#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003
#define ARCH_GET_GS 0x1004

/* The arithmetic flags and the direction flag. Single-stepping shows TF to pushf: mask it off. */
#define CF 0x001
#define PF 0x004
#define AF 0x010
#define ZF 0x040
#define SF 0x080
#define DF 0x400
#define OF 0x800
#define FLAGS (CF | PF | AF | ZF | SF | DF | OF)

    .intel_syntax noprefix
    .section .note.GNU-stack, "", @progbits

    .data
    .balign 4096
    .rept 48
    .set byte_, 0
    .rept 32
    .byte byte_, byte_ + 1, byte_ + 2, byte_ + 3, byte_ + 4, byte_ + 5, byte_ + 6, byte_ + 7
    .set byte_, byte_ + 8
    .endr
    .endr
    .globl data
    .set data, . - 8192

    .bss
    .balign 4096
    .skip 4096
    .globl zeros
zeros:
    .skip 8192
    .skip 8192
    .globl stack
stack:
    .skip 4096

/* Exit with the number of this check unless a equals b; touches memory only if a or b does. */
    .set checks_, 0
#define same(a, b)      .set checks_, checks_ + 1; cmp a, b; je 99f; mov edi, checks_; jmp fail; 99:

/* The same for a constant of 64 bits; changes rdi. */
#define same_q(a, b)    movabs rdi, b; same(a, rdi)

/* Give each register named a value of its own; ask later whether it is still there. */
    .macro fill regs:vararg
    .irp r, \regs
    mov \r, canary_\r
    .endr
    .endm
    .macro holds regs:vararg
    .irp r, \regs
    same(\r, canary_\r)
    .endr
    .endm
    .set canary_rax, -0x12340001
    .set canary_rcx, -0x12340002
    .set canary_rdx, -0x12340003
    .set canary_rbx, -0x12340004
    .set canary_rbp, -0x12340005
    .set canary_rsi, -0x12340006
    .set canary_rdi, -0x12340007
    .set canary_r8,  -0x12340008
    .set canary_r9,  -0x12340009
    .set canary_r10, -0x1234000a
    .set canary_r11, -0x1234000b
    .set canary_r12, -0x1234000c
    .set canary_r13, -0x1234000d
    .set canary_r14, -0x1234000e
    .set canary_r15, -0x1234000f

/* Set the base of fs (ARCH_SET_FS) or gs to an address; changes rax, rcx, rsi, rdi and r11. */
    .macro set_base which, address
    mov edi, \which
    lea rsi, [rip + \address]
    mov eax, 158
    syscall
    .endm

    .text
