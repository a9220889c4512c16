/* SPDX-License-Identifier: MIT */
/* Queued signals come in the order of their numbers and, for one number, of their sending, each once and with its value;
 * plain ones are merged; what exceeds the limit is refused. */
#include "check.h"

enum { NUMBERS = 5, EACH = 20 };

static char order[4096];
static volatile int length, count;
static volatile long hash;

static void on_signal(int sig, siginfo_t *info, void *context)
{
    (void)context;
    CHECK_IS(info->si_code, SI_QUEUE);
    CHECK_IS(info->si_pid, getpid());
    CHECK_IS(info->si_uid, getuid());
    count++;
    hash = hash * 31 + sig * 1000 + info->si_value.sival_int;
    if (length < 60)
        length += snprintf(order + length, 16, "%d.%d ", sig - SIGRTMIN, info->si_value.sival_int);
}

static void run(bool one_at_a_time)
{
    sigset_t all;
    count = length = 0;
    hash = 0;
    sigfillset(&all);
    for (int n = 0; n < NUMBERS; n++) {
        struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
        if (one_at_a_time)
            act.sa_mask = all;
        sigaction(SIGRTMIN + n, &act, NULL);
    }
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (int i = 0; i < EACH; i++)
        for (int n = NUMBERS - 1; n >= 0; n--)
            CHECK(!sigqueue(getpid(), SIGRTMIN + n, (union sigval){.sival_int = i}));
    CHECK_IS(count, 0);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    CHECK_IS(count, NUMBERS * EACH);
    say("%d signals, %016lx: %s...\n", count, hash, order);
}

static void limited(void)
{
    struct rlimit few = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY}, before;
    int accepted = 0;
    getrlimit(RLIMIT_SIGPENDING, &before);
    few.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_SIGPENDING, &few);
    block(SIGRTMIN);
    while (accepted < 10 && !sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = accepted}))
        accepted++;
    CHECK(accepted < 10 && errno == EAGAIN);
    setrlimit(RLIMIT_SIGPENDING, &before);
    count = 0;
    unblock(SIGRTMIN);
    CHECK_IS(count, accepted);
}

static volatile int plain;

static void on_plain(int sig)
{
    (void)sig;
    plain++;
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    for (int i = 0; i < 5; i++) {
        run(true);
        run(false);
    }
    signal(SIGUSR1, on_plain);
    block(SIGUSR1);
    for (int i = 0; i < 10; i++)
        raise(SIGUSR1);
    unblock(SIGUSR1);
    CHECK_IS(plain, 1);
    limited();
    return verdict();
}
