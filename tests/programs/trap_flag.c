/* SPDX-License-Identifier: MIT */
/* A program that sets its own trap flag is stepped through every instruction: branches, calls, system calls, string
 * instructions, and past the ones that hold the trap back. The sequence of pcs is printed. */
#include "check.h"

extern const char step_begin[], step_end[];
long stepped(long *cell);
asm(".globl stepped, step_begin, step_end\n"
    "stepped:\n"
    "    push %rbx\n"
    "    push %r12\n"
    "    mov %rdi, %r12\n"
    "    pushfq\n"
    "    orq $0x100, (%rsp)\n"
    "step_begin:\n"
    "    popfq\n"
    "    mov $3, %ebx\n"
    "1:  dec %ebx\n"
    "    jnz 1b\n"
    "    call 2f\n"
    "    lea 3f(%rip), %rax\n"
    "    jmp *%rax\n"
    "    ud2\n"
    "3:  mov $39, %eax\n"
    "    syscall\n"
    "    mov %rax, %rdx\n"
    "    mov $3, %ecx\n"
    "    mov %r12, %rdi\n"
    "    mov %r12, %rsi\n"
    "    rep movsb\n"
    "    pushfq\n"
    "    pop %rcx\n"
    "    mov %ss, %eax\n"
    "    mov %eax, %ss\n" /* no trap before the next instruction is over */
    "    add %r11, (%r12)\n"
    "    cmp %eax, %eax\n"
    "    je 4f\n"
    "    ud2\n"
    "4:  xor %ecx, %ecx\n"
    "    jrcxz 5f\n"
    "    ud2\n"
    "5:  push %rax\n"
    "    popq (%r12)\n"
    "    cpuid\n"
    "    rdtsc\n"
    "    pushfq\n"
    "    andq $~0x100, (%rsp)\n"
    "    popfq\n" /* one more trap, then none */
    "    nop\n"
    "step_end:\n"
    "    nop\n"
    "    mov %rdx, %rax\n"
    "    pop %r12\n"
    "    pop %rbx\n"
    "    ret\n"
    "2:  lea 1(%rbx), %ebx\n"
    "    ret\n");

static char order[4096];
static volatile int length, traps;

static void on_trap(int sig, siginfo_t *info, void *context)
{
    const greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)sig;
    traps++;
    CHECK_IS(info->si_code, TRAP_TRACE);
    CHECK_IS(reg[REG_TRAPNO], 1);
    CHECK_IS((long)info->si_addr, reg[REG_RIP]);
    if (length < 4000)
        length += snprintf(order + length, 16, " %ld", (long)(reg[REG_RIP] - (long)step_begin));
}

/* A handler that sets the flag itself, and one that takes it away. */
static volatile int left;

static void on_start(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= 0x100;
    left = 10;
}

static void on_some_traps(int sig, siginfo_t *info, void *context)
{
    greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)sig;
    CHECK_IS(info->si_code, TRAP_TRACE);
    CHECK(is_own_text(reg[REG_RIP]));
    CHECK(reg[REG_EFL] & 0x100);
    if (--left == 0)
        reg[REG_EFL] &= ~0x100l;
}

int main(void)
{
    static long cell[4];
    watchdog(WATCHDOG_SECONDS);
    note_text();
    handle(SIGTRAP, on_trap, 0);
    for (int i = 0; i < 5; i++) {
        length = traps = 0;
        stepped(cell);
        say("%d traps:%s\n", traps, order);
    }
    handle(SIGTRAP, on_some_traps, 0);
    handle(SIGUSR1, on_start, 0);
    for (int i = 0; i < 50; i++) {
        raise(SIGUSR1);
        volatile int work = 0;
        while (left > 0)
            work++;
        CHECK_IS(left, 0);
    }
    return verdict();
}
