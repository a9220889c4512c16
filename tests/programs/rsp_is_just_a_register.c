/* SPDX-License-Identifier: MIT */
/* Code that uses rsp for arithmetic, with values that are no address at all, while it branches in every way that needs
 * no stack and makes system calls; and code whose stack is as small as can be. */
#include "check.h"

long no_stack_arithmetic(long turns, long seed);
long no_stack_calls(long turns, long seed);
asm(".globl no_stack_arithmetic, no_stack_calls\n"
    /* rax = a sum over values that went through rsp */
    "no_stack_arithmetic:\n"
    "    push %rbx\n"
    "    push %rbp\n"
    "    mov %rsp, kept_stack(%rip)\n"
    "    mov %rsi, %rsp\n"
    "    xor %eax, %eax\n"
    "    lea 3f(%rip), %rbx\n"
    "1:  lea 5(%rsp), %rcx\n"
    "    imul $7, %rsp, %rsp\n"
    "    xor %rcx, %rsp\n"
    "    jmp *%rbx\n"
    "    ud2\n"
    "3:  test $1, %spl\n"
    "    jz 4f\n"
    "    not %rsp\n"
    "4:  add %rsp, %rax\n"
    "    bswap %rsp\n"
    "    mov %rsp, %r11\n"
    "    shl $1, %rsp\n"
    "    add %r11, %rsp\n"
    "    cmp $0, %rsp\n"
    "    jl 5f\n"
    "    inc %rax\n"
    "5:  mov $2, %ecx\n"
    "6:  loop 6b\n"
    "    lea 7f(%rip), %rdx\n"
    "    mov %rdx, kept_target(%rip)\n"
    "    jmp *kept_target(%rip)\n"
    "7:  xchg %rsp, %rbp\n"
    "    xchg %rsp, %rbp\n"
    "    dec %rdi\n"
    "    jnz 1b\n"
    "    mov kept_stack(%rip), %rsp\n"
    "    pop %rbp\n"
    "    pop %rbx\n"
    "    ret\n"
    /* the same with a system call in each turn */
    "no_stack_calls:\n"
    "    push %rbx\n"
    "    push %rbp\n"
    "    push %r12\n"
    "    mov %rsp, kept_stack(%rip)\n"
    "    mov %rsi, %rsp\n"
    "    mov %rdi, %rbx\n"
    "    xor %ebp, %ebp\n"
    "1:  mov %rsp, %r12\n"
    "    mov $39, %eax\n"
    "    syscall\n"
    "    cmp %rsp, %r12\n"
    "    jne 2f\n"
    "    inc %rbp\n"
    "2:  imul $13, %rsp, %rsp\n"
    "    dec %rbx\n"
    "    jnz 1b\n"
    "    mov kept_stack(%rip), %rsp\n"
    "    mov %rbp, %rax\n"
    "    pop %r12\n"
    "    pop %rbp\n"
    "    pop %rbx\n"
    "    ret\n");
long kept_stack, kept_target;

/* Calls on a stack of two words between closed pages, one at its very end. */
long on_small_stack(void *top, long turns);
asm(".globl on_small_stack\n"
    "on_small_stack:\n"
    "    push %rbx\n"
    "    mov %rsp, %rbx\n"
    "    mov %rdi, %rsp\n"
    "    xor %eax, %eax\n"
    "1:  call 2f\n"
    "    call *3f(%rip)\n"
    "    push %rsi\n"
    "    pop %rcx\n"
    "    dec %rsi\n"
    "    jnz 1b\n"
    "    mov %rbx, %rsp\n"
    "    pop %rbx\n"
    "    ret\n"
    "2:  inc %rax\n"
    "    ret\n"
    ".section .data.rel.ro, \"aw\"\n"
    "3:  .quad 2b\n"
    ".text\n");

int main(void)
{
    static const long seeds[] = {
        1, 0, -1, 0x7ffffffff000, 0x0000800000000000, 0x123456789abcdef1, 4096, 7};
    sigset_t all;
    watchdog(WATCHDOG_SECONDS);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL); /* a signal would need a stack */
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        say("%016lx\n", no_stack_arithmetic(500, seeds[i]));
        CHECK_IS(no_stack_calls(50, seeds[i]), 50);
    }
    char *pages = map(3 * PAGE, PROT_READ | PROT_WRITE);
    mprotect(pages, PAGE, PROT_NONE);
    mprotect(pages + 2 * PAGE, PAGE, PROT_NONE);
    CHECK_IS(on_small_stack(pages + 2 * PAGE, 100), 200);  /* from the last word down */
    CHECK_IS(on_small_stack(pages + PAGE + 8, 100), 200);  /* one word, and closed below */
    CHECK_IS(on_small_stack(pages + PAGE + 13, 100), 200); /* not aligned */
    return verdict();
}
