/* SPDX-License-Identifier: MIT */
/* SIGSEGV and its kin can be blocked and ignored against those who send them, but not against a real fault, which then
 * kills. */
#include "check.h"

static const int sigs[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
enum { SIGS = sizeof sigs / sizeof *sigs };
static volatile int arrived, last_code;
static int now;

static void on_signal(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)context;
    arrived++;
    last_code = info->si_code;
}

static bool is_pending(int sig)
{
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, sig) == 1;
}

/* Raise a signal by really doing wrong. */
static void do_wrong(int sig)
{
    volatile int *volatile nowhere = (int *)16;
    char path[] = "/tmp/wrong-XXXXXX";
    int fd;
    switch (sig) {
    case SIGSEGV:
        *nowhere = 1;
        break;
    case SIGBUS:
        fd = mkstemp(path);
        unlink(path);
        *(volatile char *)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
        break;
    case SIGILL:
        asm volatile("ud2");
        break;
    case SIGFPE:
        asm volatile("div %0" : : "r"(0), "a"(1), "d"(0));
        break;
    case SIGTRAP:
        asm volatile("int3");
        break;
    }
}

static int while_blocked(void)
{
    handle(now, on_signal, 0);
    block(now);
    do_wrong(now);
    return 1;
}

static int while_ignored(void)
{
    signal(now, SIG_IGN);
    do_wrong(now);
    return 1;
}

static int with_default(void)
{
    do_wrong(now);
    return 1;
}

static int while_blocked_and_pending(void)
{
    handle(now, on_signal, 0);
    block(now);
    raise(now);
    do_wrong(now);
    return 1;
}

static void wrong_again(int sig, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    if (++arrived == 2)
        _exit(50);
    do_wrong(sig);
}

static int in_its_own_handler(void)
{
    arrived = 0;
    handle(now, wrong_again, 0);
    do_wrong(now);
    return 1;
}

static int in_its_own_open_handler(void)
{
    arrived = 0;
    handle(now, wrong_again, SA_NODEFER);
    do_wrong(now);
    return 1;
}

static void wrong_in_other(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)info, (void)context;
    do_wrong(now);
}

static int masked_by_another_handler(void)
{
    struct sigaction act = {.sa_sigaction = wrong_in_other, .sa_flags = SA_SIGINFO};
    handle(now, on_signal, 0);
    sigaddset(&act.sa_mask, now);
    sigaction(SIGUSR1, &act, NULL);
    raise(SIGUSR1);
    return 1;
}

static int inherited_mask(void)
{
    return is_blocked(now) ? 0 : 1;
}

static void sent(int sig)
{
    handle(sig, on_signal, 0);
    arrived = 0;
    raise(sig);
    CHECK_IS(arrived, 1);
    CHECK_IS(last_code, SI_TKILL);
    kill(getpid(), sig);
    CHECK_IS(arrived, 2);
    CHECK_IS(last_code, SI_USER);
    block(sig);
    CHECK(is_blocked(sig));
    CHECK_IS(status_in_child(inherited_mask), 0);
    kill(getpid(), sig);
    sigqueue(getpid(), sig, (union sigval){0});
    CHECK_IS(arrived, 2);
    CHECK(is_pending(sig));
    unblock(sig);
    CHECK_IS(arrived, 3); /* the second was merged with the first */
    CHECK_IS(last_code, SI_USER);
    CHECK(!is_pending(sig) && !is_blocked(sig));
    signal(sig, SIG_IGN);
    raise(sig);
    CHECK_IS(arrived, 3);
    signal(sig, SIG_DFL);
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    for (int i = 0; i < SIGS; i++) {
        now = sigs[i];
        sent(now);
        CHECK_IS(status_in_child(while_blocked), now);
        CHECK_IS(status_in_child(while_ignored), now);
        CHECK_IS(status_in_child(with_default), now);
        CHECK_IS(status_in_child(while_blocked_and_pending), now);
        CHECK_IS(status_in_child(in_its_own_handler), now);
        CHECK_IS(status_in_child(in_its_own_open_handler), 50 << 8);
        CHECK_IS(status_in_child(masked_by_another_handler), now);
        say("signal %d\n", now);
    }
    return verdict();
}
