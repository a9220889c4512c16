/* SPDX-License-Identifier: MIT */
/* A handler forks, and both sides return from it: into the middle of what was interrupted, with the same registers, mask
 * and stack; from faults, timers, nested handlers and the alternate stack. */
#include "check.h"

enum { ROUNDS = 10 };

static volatile int sides; /* 0 in the first process, 1 in a child */
static volatile pid_t child;
static volatile int arrived;
static volatile bool again;

static void on_signal(int sig, siginfo_t *info, void *context)
{
    greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)info;
    arrived++;
    CHECK(is_own_text(reg[REG_RIP]));
    if (again) {
        again = false;
        raise(sig == SIGUSR1 ? SIGUSR2 : SIGUSR1);
        return;
    }
    if (sig == SIGILL)
        reg[REG_RIP] += 2;
    child = fork_watched();
    if (!child)
        sides = 1;
}

/* Values in registers over a signal; their sum is returned. */
static long sum_over(void (*raise_it)(void), long seed)
{
    register long a asm("rbx") = seed, b asm("r12") = seed * 3, c asm("r13") = seed * 5;
    double d = (double)seed / 4;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+x"(d));
    raise_it();
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+x"(d));
    return a + b + c + (long)(d * 4);
}

static void by_raise(void)
{
    raise(SIGUSR1);
}

static void by_fault(void)
{
    asm volatile("ud2");
}

static void by_nesting(void)
{
    again = true;
    raise(SIGUSR1);
}

static void by_timer(void)
{
    int before = arrived;
    pulse_in(20000);
    while (arrived == before)
        ;
}

/* Both sides come here; the child leaves with what it found. */
static void settle(long sum, long wanted)
{
    if (sides)
        _exit(sum == wanted && !is_blocked(SIGUSR1) && !is_blocked(SIGUSR2) && !is_blocked(SIGALRM)
                  ? 61
                  : 62);
    CHECK_IS(sum, wanted);
    CHECK(!is_blocked(SIGUSR1) && !is_blocked(SIGUSR2));
    CHECK_IS(status_of(child), 61 << 8);
}

int main(void)
{
    static void (*const ways[])(void) = {by_raise, by_fault, by_nesting, by_timer};
    stack_t alt = {.ss_sp = map(131072, PROT_READ | PROT_WRITE), .ss_size = 131072};
    watchdog(WATCHDOG_SECONDS);
    note_text();
    sigaltstack(&alt, NULL);
    pulse_start(SIGALRM);
    for (int round = 0; round < ROUNDS; round++) {
        int flags = round % 2 ? SA_ONSTACK : 0;
        handle(SIGUSR1, on_signal, flags);
        handle(SIGUSR2, on_signal, flags);
        handle(SIGILL, on_signal, flags);
        handle(SIGALRM, on_signal, flags);
        for (int way = 0; way < 4; way++) {
            long seed = 100 * round + way;
            settle(sum_over(ways[way], seed), 10 * seed);
        }
    }
    return verdict();
}
