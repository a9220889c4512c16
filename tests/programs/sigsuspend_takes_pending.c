/* SPDX-License-Identifier: MIT */
/* sigsuspend lets in what is pending or comes later, at once and exactly so: the handler's frame holds the mask from
 * before, its own mask is the temporary one and more, and the old mask is back when the call returns. */
#include "check.h"

static volatile int arrived;
static char order[64];
static volatile int length;
static sigset_t outside, inside;

static void first(int sig, siginfo_t *info, void *context);

static bool same(const sigset_t *a, const sigset_t *b)
{
    return !memcmp(a, b, 8);
}

static void on_one(int sig, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    sigset_t now, wanted = inside;
    (void)info;
    arrived++;
    sigprocmask(SIG_BLOCK, NULL, &now);
    sigaddset(&wanted, sig);
    CHECK(same(&now, &wanted));
    CHECK(same(&uc->uc_sigmask, &outside));
    CHECK_IS(uc->uc_mcontext.gregs[REG_RAX], -EINTR);
    CHECK(is_own_text(uc->uc_mcontext.gregs[REG_RIP]));
}

/* Two pending ones: both frames are made before either handler runs, the lower number's first. */
static void second(int sig, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    sigset_t wanted = inside;
    (void)info, (void)sig;
    order[length++] = '2';
    CHECK_IS(uc->uc_mcontext.gregs[REG_RIP], (long)first);
    CHECK_IS(uc->uc_mcontext.gregs[REG_RDI], SIGUSR1);
    sigaddset(&wanted, SIGUSR1);
    CHECK(same(&uc->uc_sigmask, &wanted));
}

static void first(int sig, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    (void)info, (void)sig;
    order[length++] = '1';
    CHECK(same(&uc->uc_sigmask, &outside));
}

static void suspend(void)
{
    sigset_t after;
    CHECK(sigsuspend(&inside) == -1 && errno == EINTR);
    sigprocmask(SIG_BLOCK, NULL, &after);
    CHECK(same(&after, &outside));
}

int main(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec once = {0};
    timer_t timer;
    uint32_t random = 3;
    watchdog(WATCHDOG_SECONDS);
    note_text();
    must(!timer_create(CLOCK_MONOTONIC, &event, &timer), "create a timer");
    sigemptyset(&outside);
    sigaddset(&outside, SIGUSR1);
    sigaddset(&outside, SIGUSR2);
    sigprocmask(SIG_SETMASK, &outside, NULL);
    sigemptyset(&inside);
    sigaddset(&inside, SIGHUP);

    handle(SIGUSR1, on_one, 0);
    for (int round = 0; round < 100; round++) {
        raise(SIGUSR1);
        raise(SIGUSR1);
        CHECK_IS(arrived, round);
        suspend();
        CHECK_IS(arrived, round + 1);
    }
    for (int round = 0; round < 300; round++) {
        handle(SIGUSR1, on_one, round % 2 ? SA_RESTART : 0);
        once.it_value.tv_nsec = 1 + next_random(&random) % 30000;
        timer_settime(timer, 0, &once, NULL);
        suspend();
        CHECK_IS(arrived, 101 + round);
    }
    handle(SIGUSR1, first, 0);
    handle(SIGUSR2, second, 0);
    for (int round = 0; round < 20; round++) {
        raise(SIGUSR2);
        raise(SIGUSR1);
        suspend();
        order[length++] = ' ';
    }
    CHECK_IS(length, 60);
    say("%.60s\n", order);
    return verdict();
}
