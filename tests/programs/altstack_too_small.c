/* SPDX-License-Identifier: MIT */
/* A frame that does not fit or cannot be written: too small an alternate stack, one that is not writable, one used up by
 * nesting, a broken ordinary stack. Death by SIGSEGV or its handler, as the kernel decides, never anything else. */
#include "check.h"

static volatile int nested;

static void end_well(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)info, (void)context;
    _exit(10);
}

/* Reached when another signal's frame could not be made. */
static void end_by_segv(int sig, siginfo_t *info, void *context)
{
    (void)context;
    _exit(sig == SIGSEGV && info->si_code == SI_KERNEL && !info->si_addr ? 20 : 21);
}

static void nest(int sig, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    if (++nested > 100000)
        _exit(30);
    raise(sig);
}

static void set_alt(void *at, size_t size)
{
    stack_t stack = {.ss_sp = at, .ss_size = size};
    if (sigaltstack(&stack, NULL))
        _exit(40);
}

/* The least size the kernel takes; whether a frame fits depends on the processor. */
static int tiny_stack(void)
{
    char *at = map(2 * PAGE, PROT_READ | PROT_WRITE);
    set_alt(at + PAGE - 512, 2048);
    handle(SIGUSR1, end_well, SA_ONSTACK);
    raise(SIGUSR1);
    return 0;
}

static int stack_below_minimum(void)
{
    stack_t stack = {.ss_sp = map(PAGE, PROT_READ | PROT_WRITE), .ss_size = 1024}, now;
    if (sigaltstack(&stack, NULL) != -1 || errno != ENOMEM)
        return 41;
    return !sigaltstack(NULL, &now) && now.ss_flags == SS_DISABLE ? 11 : 42;
}

static int readonly_stack(void)
{
    set_alt(map(65536, PROT_READ), 65536);
    handle(SIGUSR1, end_well, SA_ONSTACK);
    raise(SIGUSR1);
    return 0;
}

static int unmapped_stack_and_segv_handler_elsewhere(void)
{
    char *at = map(65536, PROT_READ | PROT_WRITE);
    set_alt(at, 65536);
    munmap(at, 65536);
    handle(SIGUSR1, end_well, SA_ONSTACK);
    handle(SIGSEGV, end_by_segv, 0);
    raise(SIGUSR1);
    return 0;
}

static int unmapped_stack_and_segv_handler_on_it(void)
{
    set_alt(map(65536, PROT_NONE), 65536);
    handle(SIGUSR1, end_well, SA_ONSTACK);
    handle(SIGSEGV, end_by_segv, SA_ONSTACK);
    raise(SIGUSR1);
    return 0;
}

static int segv_handler_blocked_meanwhile(void)
{
    set_alt(map(65536, PROT_NONE), 65536);
    handle(SIGUSR1, end_well, SA_ONSTACK);
    handle(SIGSEGV, end_by_segv, 0);
    block(SIGSEGV);
    raise(SIGUSR1);
    return 0;
}

static int nesting_uses_it_up(void)
{
    char *at = map(65536 + PAGE, PROT_READ | PROT_WRITE);
    mprotect(at, PAGE, PROT_NONE);
    set_alt(at + PAGE, 65536);
    handle(SIGUSR1, nest, SA_ONSTACK | SA_NODEFER);
    raise(SIGUSR1);
    return 0;
}

static int nesting_uses_it_up_and_segv_has_a_handler(void)
{
    char *at = map(65536 + PAGE, PROT_READ | PROT_WRITE);
    mprotect(at, PAGE, PROT_NONE);
    set_alt(at + PAGE, 65536);
    handle(SIGUSR1, nest, SA_ONSTACK | SA_NODEFER);
    handle(SIGSEGV, end_by_segv, SA_ONSTACK);
    raise(SIGUSR1);
    return 0;
}

/* Take the signal with a stack pointer that leads nowhere. */
static void signal_without_stack(void)
{
    long pid = getpid(), tid = gettid();
    asm volatile("mov %%rsp, %%r12\n\t"
                 "mov $0x1000, %%rsp\n\t"
                 "syscall\n\t"
                 "mov %%r12, %%rsp"
                 :
                 : "a"(SYS_tgkill), "D"(pid), "S"(tid), "d"(SIGUSR1)
                 : "rcx", "r11", "r12", "memory");
}

static int no_stack(void)
{
    handle(SIGUSR1, end_well, 0);
    signal_without_stack();
    return 0;
}

static int no_stack_but_an_alternate_one(void)
{
    set_alt(map(65536, PROT_READ | PROT_WRITE), 65536);
    handle(SIGUSR1, end_well, SA_ONSTACK);
    signal_without_stack();
    return 0;
}

static int no_stack_and_segv_on_the_alternate_one(void)
{
    set_alt(map(65536, PROT_READ | PROT_WRITE), 65536);
    handle(SIGUSR1, end_well, 0);
    handle(SIGSEGV, end_by_segv, SA_ONSTACK);
    signal_without_stack();
    return 0;
}

int main(void)
{
    static const struct {
        const char *name;
        int (*run)(void);
        int exits, dies; /* -1: depends on the processor */
    } cases[] = {
        {"tiny stack", tiny_stack, -1, -1},
        {"stack below the minimum", stack_below_minimum, 11, 0},
        {"read-only stack", readonly_stack, 0, SIGSEGV},
        {"unmapped stack, SIGSEGV elsewhere", unmapped_stack_and_segv_handler_elsewhere, 20, 0},
        {"unmapped stack, SIGSEGV on it", unmapped_stack_and_segv_handler_on_it, 0, SIGSEGV},
        {"unmapped stack, SIGSEGV blocked", segv_handler_blocked_meanwhile, 0, SIGSEGV},
        {"nesting", nesting_uses_it_up, 0, SIGSEGV},
        {"nesting, SIGSEGV on it", nesting_uses_it_up_and_segv_has_a_handler, 0, SIGSEGV},
        {"no stack", no_stack, 0, SIGSEGV},
        {"no stack, alternate one", no_stack_but_an_alternate_one, 10, 0},
        {"no stack, SIGSEGV on the alternate one", no_stack_and_segv_on_the_alternate_one, 20, 0},
    };
    watchdog(WATCHDOG_SECONDS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = status_in_child(cases[i].run);
        say("%s: %s\n", cases[i].name, status_text(status));
        if (cases[i].exits >= 0)
            CHECK(cases[i].dies ? WIFSIGNALED(status) && WTERMSIG(status) == cases[i].dies
                                : WIFEXITED(status) && WEXITSTATUS(status) == cases[i].exits);
    }
    return verdict();
}
