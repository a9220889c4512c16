/* SPDX-License-Identifier: MIT */
/* Handlers that never return: siglongjmp out of faults, timers and three nested handlers, on both stacks, thousands of
 * times; the mask is the saved one or, without saving, the handler's. */
#include "check.h"
#include <pthread.h>

enum { ALT_SIZE = 128 * 1024, FAULTS = 1000, PULSES = 300 };

static __thread sigjmp_buf out;
static __thread volatile int depth;
static volatile int arrived;

static void jump(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)info, (void)context;
    siglongjmp(out, 1 + depth);
}

/* Two more handlers on top, then out of all three. */
static void nest(int sig, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    depth++;
    if (sig == SIGUSR1)
        raise(SIGUSR2);
    else
        asm volatile("ud2");
}

static void on_pulse(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)info;
    CHECK(is_own_text(((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]));
    arrived++;
    siglongjmp(out, 1);
}

__attribute__((noinline)) static int deep(int n, volatile int *from)
{
    return n ? deep(n - 1, from) + 1 : *from;
}

/* Fault in many frames' depth, again and again; what lives in registers across must be as setjmp found it. */
static void *faults(void *arg)
{
    volatile int *volatile nowhere = (int *)(long)32;
    stack_t alt = {.ss_sp = map(ALT_SIZE, PROT_READ | PROT_WRITE), .ss_size = ALT_SIZE};
    volatile long caught = 0;
    long kept = (long)arg;
    sigaltstack(&alt, NULL);
    for (volatile int i = 0; i < FAULTS; i++) {
        int way = sigsetjmp(out, 1);
        if (!way) {
            deep(i % 50, nowhere);
            caught -= 1000000;
        } else {
            caught += way;
            CHECK_IS(kept, (long)arg);
            CHECK(!is_blocked(SIGSEGV));
        }
    }
    CHECK_IS(caught, FAULTS);
    return NULL;
}

static void nested(void)
{
    volatile int caught = 0;
    for (volatile int i = 0; i < 200; i++) {
        depth = 0;
        int way = sigsetjmp(out, 1);
        if (!way) {
            raise(SIGUSR1);
            fail("came back\n");
        }
        caught += way;
        CHECK(!is_blocked(SIGUSR1) && !is_blocked(SIGUSR2) && !is_blocked(SIGILL));
    }
    CHECK_IS(caught, 600);
    depth = 0;
}

/* Without the mask saved, the signal stays blocked after the jump. */
static void mask_stays(void)
{
    if (!sigsetjmp(out, 0))
        raise(SIGHUP);
    CHECK(is_blocked(SIGHUP));
    unblock(SIGHUP);
    CHECK(!is_blocked(SIGHUP));
}

static void pulses(void)
{
    volatile long work = 0;
    for (volatile int i = 0; i < PULSES; i++) {
        if (!sigsetjmp(out, 1)) {
            pulse_in(1 + (i * 7919) % 20000);
            for (;;) {
                work++;
                if (i % 3 == 1)
                    pause();
                if (i % 3 == 2)
                    snprintf((char[32]){0}, 32, "%ld", work);
            }
        }
        CHECK_IS(arrived, i + 1);
    }
}

int main(void)
{
    pthread_t thread[3];
    watchdog(WATCHDOG_SECONDS);
    note_text();
    handle(SIGSEGV, jump, SA_ONSTACK);
    handle(SIGILL, jump, 0);
    handle(SIGHUP, jump, 0);
    handle(SIGUSR1, nest, 0);
    handle(SIGUSR2, nest, SA_ONSTACK);
    handle(SIGALRM, on_pulse, 0);
    for (long i = 0; i < 3; i++)
        must(!pthread_create(&thread[i], NULL, faults, (void *)(i + 77)), "create a thread");
    faults((void *)5);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    nested();
    mask_stays();
    pulse_start(SIGALRM);
    pulses();
    say("%d pulses\n", arrived);
    return verdict();
}
