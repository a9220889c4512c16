/* SPDX-License-Identifier: MIT */
/* A program that asks the kernel to hand it its own system calls gets each, with number and address, while the selector
 * says so, and none from the range it exempts or while the selector is off. */
/* not yet: refused; see docs/limits.md */
#include "check.h"
#include <sys/prctl.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH  59
#define PR_SYS_DISPATCH_OFF           0
#define PR_SYS_DISPATCH_ON            1
#define SYSCALL_DISPATCH_FILTER_ALLOW 0
#define SYSCALL_DISPATCH_FILTER_BLOCK 1
#endif

volatile char selector;
long caught_call(long nr, long a), exempt_call(long nr, long a);
extern const char caught_after[], exempt_begin[], exempt_end[];
asm(".globl caught_call, caught_after, exempt_call, exempt_begin, exempt_end\n"
    "caught_call:\n"
    "    mov %rdi, %rax\n"
    "    mov %rsi, %rdi\n"
    "    syscall\n"
    "caught_after:\n"
    "    ret\n"
    "    nop\n"
    "exempt_begin:\n"
    "exempt_call:\n"
    "    mov %rdi, %rax\n"
    "    mov %rsi, %rdi\n"
    "    syscall\n"
    "    ret\n"
    "exempt_end:\n"
    "    nop\n");

static volatile int arrived;

/* Calls of the handler itself must not be caught again, the way back included. */
static void on_sys(int sig, siginfo_t *info, void *context)
{
    greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    selector = SYSCALL_DISPATCH_FILTER_ALLOW;
    (void)sig;
    arrived++;
    CHECK_IS(info->si_code, 2); /* SYS_USER_DISPATCH */
    CHECK_IS(info->si_call_addr, caught_after);
    CHECK_IS(reg[REG_RIP], (long)caught_after);
    CHECK_IS(reg[REG_RAX], info->si_syscall);
    CHECK_IS(reg[REG_RDI], 55);
    reg[REG_RAX] = 1000 + info->si_syscall;
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    handle(SIGSYS, on_sys, 0);
    if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, exempt_begin,
              exempt_end - exempt_begin, &selector))
        return skip("no syscall user dispatch in this kernel");
    CHECK_IS(caught_call(SYS_getpid, 55), getpid());
    for (int i = 0; i < 50; i++) {
        selector = SYSCALL_DISPATCH_FILTER_BLOCK;
        long caught = caught_call(SYS_getppid, 55); /* the handler lets the rest through */
        CHECK_IS(caught, 1000 + SYS_getppid);
        selector = SYSCALL_DISPATCH_FILTER_BLOCK;
        long exempt = exempt_call(SYS_getpid, 0), odd = caught_call(-7, 55);
        selector = SYSCALL_DISPATCH_FILTER_ALLOW;
        CHECK_IS(exempt, getpid());
        CHECK_IS(odd, 1000 - 7);
        CHECK_IS(caught_call(SYS_getpid, 55), getpid());
    }
    CHECK_IS(arrived, 100);
    CHECK(!prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0));
    selector = SYSCALL_DISPATCH_FILTER_BLOCK;
    CHECK_IS(caught_call(SYS_getpid, 55), getpid());
    return verdict();
}
