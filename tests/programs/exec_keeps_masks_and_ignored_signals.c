/* SPDX-License-Identifier: MIT */
/* Over exec go: the mask, also of signals that faults raise, what is ignored, what is pending, alarms, the id, limits,
 * descriptors that are not to be closed. Not over exec go: handlers, the alternate stack, timers, the name, locks on
 * memory. */
#include "check.h"
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/time.h>

static void on_signal(int sig)
{
    (void)sig;
}

static bool is_pending(int sig)
{
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, sig) == 1;
}

static void *handler_of(int sig)
{
    struct sigaction now;
    sigaction(sig, NULL, &now);
    return (void *)(uintptr_t)now.sa_handler;
}

static int arrived;
static siginfo_t last;

static void note(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)context;
    arrived++;
    last = *info;
}

/* How many timers this process has; 0 if the kernel does not tell. */
static int timers(void)
{
    FILE *f = fopen("/proc/self/timers", "r");
    char line[100];
    int count = 0;
    while (f && fgets(line, sizeof line, f))
        count += !strncmp(line, "ID:", 3);
    if (f)
        fclose(f);
    return count;
}

static int second(pid_t pid)
{
    stack_t stack;
    struct itimerval left;
    struct rlimit limit;
    CHECK_IS(timers(), 0);
    watchdog(WATCHDOG_SECONDS);
    CHECK_IS(getpid(), pid);
    for (int sig = 1; sig < 65; sig++) {
        bool should = sig == SIGUSR1 || sig == SIGSEGV || sig == SIGTRAP || sig == SIGRTMIN + 2;
        if (sig != 32 && sig != 33 && is_blocked(sig) != should)
            fail("signal %d is%s blocked\n", sig, should ? " not" : "");
    }
    CHECK(is_pending(SIGUSR1) && is_pending(SIGSEGV) && is_pending(SIGRTMIN + 2) &&
          !is_pending(SIGTRAP));
    CHECK(handler_of(SIGUSR2) == SIG_IGN);
    CHECK(handler_of(SIGFPE) == SIG_IGN);
    CHECK(handler_of(SIGHUP) == SIG_DFL);
    CHECK(handler_of(SIGILL) == SIG_DFL);
    CHECK(!sigaltstack(NULL, &stack) && stack.ss_flags == SS_DISABLE);
    CHECK(!getitimer(ITIMER_REAL, &left) && left.it_value.tv_sec > 1000);
    CHECK(!getrlimit(RLIMIT_CORE, &limit) && limit.rlim_cur == 12345);
    CHECK_IS(fcntl(20, F_GETFD), 0);
    CHECK(fcntl(21, F_GETFD) == -1);
    /* What is pending comes now, with what it carries. */
    handle(SIGRTMIN + 2, note, 0);
    unblock(SIGRTMIN + 2);
    CHECK(arrived == 2 && last.si_value.sival_int == 34 && last.si_code == SI_QUEUE);
    handle(SIGSEGV, note, 0);
    unblock(SIGSEGV);
    CHECK(arrived == 3 && last.si_code == SI_USER && last.si_pid == pid);
    handle(SIGUSR1, note, 0);
    unblock(SIGUSR1);
    CHECK(arrived == 4 && last.si_signo == SIGUSR1);
    raise(SIGUSR2);
    raise(SIGFPE);
    return verdict();
}

int main(int argc, char **argv)
{
    char text[16];
    timer_t timer;
    if (argc > 1)
        return second(atoi(argv[1]));
    watchdog(WATCHDOG_SECONDS);
    block(SIGUSR1);
    block(SIGSEGV);
    block(SIGTRAP);
    block(SIGRTMIN + 2);
    signal(SIGHUP, on_signal);
    signal(SIGILL, on_signal);
    signal(SIGUSR2, SIG_IGN);
    signal(SIGFPE, SIG_IGN);
    stack_t stack = {.ss_sp = map(65536, PROT_READ | PROT_WRITE), .ss_size = 65536};
    sigaltstack(&stack, NULL);
    raise(SIGUSR1);
    kill(getpid(), SIGSEGV);
    sigqueue(getpid(), SIGRTMIN + 2, (union sigval){.sival_int = 33});
    sigqueue(getpid(), SIGRTMIN + 2, (union sigval){.sival_int = 34});
    alarm(3000);
    struct sigevent soon = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM};
    struct itimerspec once = {.it_value.tv_sec = 3000};
    must(!timer_create(CLOCK_MONOTONIC, &soon, &timer), "create a timer");
    timer_settime(timer, 0, &once, NULL);
    struct rlimit limit;
    getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = 12345;
    must(!setrlimit(RLIMIT_CORE, &limit), "limit cores");
    must(dup2(0, 20) == 20 && dup3(0, 21, O_CLOEXEC) == 21, "copy descriptors");
    snprintf(text, sizeof text, "%d", getpid());
    execl("/proc/self/exe", "again", text, (char *)NULL);
    return 2;
}
