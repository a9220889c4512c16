/* SPDX-License-Identifier: MIT */
/* A vfork child shares the parent's memory but not its signals: what it changes in memory stays, what it changes of
 * handlers and masks goes with it; it may fail to exec, nest, be killed, take signals; the parent waits until it is
 * gone. */
#include "check.h"

static volatile int arrived, shared;
static volatile long fib_result[32];

static void on_signal(int sig)
{
    (void)sig;
    arrived++;
}

/* The child runs on the parent's stack: nothing here may return before it is gone. */
__attribute__((noinline)) static pid_t start(int way)
{
    static char *argv[] = {"child", "exit", NULL};
    static char *environment[] = {NULL};
    pid_t pid = vfork();
    if (pid)
        return pid;
    shared = 100 + way;
    switch (way) {
    case 0:
        _exit(11);
    case 1: /* handlers and masks of its own */
        signal(SIGUSR1, SIG_DFL);
        signal(SIGUSR2, SIG_IGN);
        block(SIGHUP);
        _exit(12);
    case 2: /* many failures, then success */
        for (int i = 0; i < 5; i++)
            execve("/no/such/program", argv, environment);
        execve("/proc/self/exe", argv, environment);
        _exit(99);
    case 3:
        execve("/no/such/program", argv, environment);
        shared = errno;
        _exit(13);
    case 4: /* its own signal kills it only */
        signal(SIGUSR1, SIG_DFL);
        kill(getpid(), SIGUSR1);
        _exit(98);
    case 5: /* the handler it got from the parent runs here, on the parent's memory */
        raise(SIGUSR1);
        _exit(arrived == 1 ? 15 : 97);
    default: /* a mapping is for both */
        shared = mprotect((void *)((uintptr_t)fib_result & -PAGE), PAGE, PROT_READ | PROT_WRITE);
        _exit(16);
    }
}

static void parent_is_whole(void)
{
    struct sigaction now;
    sigaction(SIGUSR1, NULL, &now);
    CHECK(now.sa_handler == on_signal);
    sigaction(SIGUSR2, NULL, &now);
    CHECK(now.sa_handler == SIG_DFL);
    CHECK(!is_blocked(SIGHUP));
    arrived = 0;
    raise(SIGUSR1);
    CHECK_IS(arrived, 1);
    arrived = 0;
}

/* Fibonacci by children of children of children. */
__attribute__((noinline)) static void fib(int n, volatile long *result)
{
    if (n < 2) {
        *result = n;
        return;
    }
    volatile long a = 0, b = 0;
    for (volatile int i = 1; i <= 2; i++) {
        pid_t pid = vfork();
        if (!pid) {
            fib(n - i, i == 1 ? &a : &b);
            _exit(0);
        }
        CHECK(pid > 0);
        CHECK_IS(status_of(pid), 0);
    }
    *result = a + b;
}

int main(int argc, char **argv)
{
    static const int statuses[] = {11 << 8, 12 << 8, 14 << 8, 13 << 8, SIGUSR1, 15 << 8, 16 << 8};
    (void)argv;
    if (argc > 1)
        return 14;
    watchdog(WATCHDOG_SECONDS);
    signal(SIGUSR1, on_signal);
    for (volatile int round = 0; round < 10; round++)
        for (volatile int way = 0; way < 7; way++) {
            shared = 0;
            pid_t pid = start(way);
            CHECK_IS(shared, way == 3 ? ENOENT : way == 6 ? 0 : 100 + way);
            CHECK_IS(status_of(pid), statuses[way]);
            if (way == 5)
                CHECK_IS(arrived, 1);
            parent_is_whole();
        }
    fib(9, &fib_result[9]);
    CHECK_IS(fib_result[9], 34);
    parent_is_whole();
    return verdict();
}
