/* SPDX-License-Identifier: MIT */
/* A one-shot timer tuned to fire right when the call that sets it returns arrives exactly once, in every round.
 *
 *   [ROUNDS]     default 1000 */
/* long: 10000 */
#include "check.h"

static volatile long arrived, early;
static volatile bool has_returned;
static timer_t timer;

static void on_timer(int sig, siginfo_t *info, void *context)
{
    CHECK(is_own_text(((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]));
    CHECK_IS(sig, SIGRTMIN);
    CHECK_IS(info->si_code, SI_TIMER);
    CHECK_IS(info->si_value.sival_int, 4711);
    CHECK_IS(info->si_overrun, 0);
    if (!has_returned)
        early++;
    arrived++;
}

static long twice(long n)
{
    return 2 * n;
}

static long thrice(long n)
{
    return 3 * n;
}

/* Ways to be busy until the signal comes: a plain loop, indirect calls, system calls, calls through the vdso. */
static void wait_busily(int way, long until)
{
    static long (*volatile const step[])(long) = {twice, thrice};
    volatile long sum = 0;
    struct timespec now;
    while (arrived < until) {
        if (way == 1)
            sum += step[sum & 1](sum);
        if (way == 2)
            getppid();
        if (way == 3)
            clock_gettime(CLOCK_MONOTONIC, &now);
    }
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    struct sigevent event = {
        .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 4711};
    struct itimerspec once = {.it_value.tv_nsec = 2000};
    watchdog(WATCHDOG_SECONDS + rounds / 100);
    note_text();
    handle(SIGRTMIN, on_timer, 0);
    must(!timer_create(CLOCK_MONOTONIC, &event, &timer), "create a timer");
    for (long round = 0; round < rounds; round++) {
        long early_before = early;
        has_returned = false;
        must(!timer_settime(timer, 0, &once, NULL), "set the timer");
        has_returned = true;
        wait_busily(round % 4, round + 1);
        CHECK_IS(arrived, round + 1);
        CHECK_IS(timer_getoverrun(timer), 0);
        /* Creep towards the return of the call, from both sides. */
        once.it_value.tv_nsec += early > early_before ? 100 : -100;
        if (once.it_value.tv_nsec < 1 || once.it_value.tv_nsec > 500000)
            once.it_value.tv_nsec = 2000;
    }
    say("%ld rounds, %ld signals\n", rounds, arrived);
    return verdict();
}
