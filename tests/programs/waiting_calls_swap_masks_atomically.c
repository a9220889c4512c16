/* SPDX-License-Identifier: MIT */
/* ppoll, pselect, epoll_pwait and epoll_pwait2 open their mask only while they wait: a signal that is pending before, or
 * comes during the call, ends it with EINTR once; a ready descriptor wins over a pending signal; the mask is back
 * afterwards. */
#include "check.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

static int fds[2], epoll_fd;
static sigset_t open_mask, outside;
static volatile int arrived;

static void on_signal(int sig, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    (void)info;
    arrived++;
    CHECK(!memcmp(&uc->uc_sigmask, &outside, 8));
    CHECK(is_blocked(sig));
    CHECK(!is_blocked(SIGUSR2));
    CHECK_IS(uc->uc_mcontext.gregs[REG_RAX], -EINTR);
}

static int by_ppoll(const sigset_t *mask, const struct timespec *limit)
{
    struct pollfd p = {.fd = fds[0], .events = POLLIN};
    return ppoll(&p, 1, limit, mask);
}

static int by_pselect(const sigset_t *mask, const struct timespec *limit)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fds[0], &set);
    return pselect(fds[0] + 1, &set, NULL, NULL, limit, mask);
}

static int by_epoll_pwait(const sigset_t *mask, const struct timespec *limit)
{
    struct epoll_event event;
    return epoll_pwait(epoll_fd, &event, 1, limit ? (int)(limit->tv_nsec / 1000000) : -1, mask);
}

static int by_epoll_pwait2(const sigset_t *mask, const struct timespec *limit)
{
    struct epoll_event event;
    return epoll_pwait2(epoll_fd, &event, 1, limit, mask);
}

static const struct {
    const char *name;
    int (*wait)(const sigset_t *mask, const struct timespec *limit);
} calls[] = {
    {"ppoll", by_ppoll},
    {"pselect", by_pselect},
    {"epoll_pwait", by_epoll_pwait},
    {"epoll_pwait2", by_epoll_pwait2},
};

static void check_outside(const char *name)
{
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    if (memcmp(&now, &outside, 8))
        fail("%s leaves another mask\n", name);
}

static bool is_pending(int sig)
{
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, sig) == 1;
}

static void one_call(int which, timer_t timer)
{
    const char *name = calls[which].name;
    const struct timespec soon = {.tv_nsec = 3000000};
    struct itimerspec once = {0};
    uint32_t random = 5 + which;
    char byte;
    arrived = 0;
    for (int round = 0; round < 50; round++) { /* pending before */
        raise(SIGUSR1);
        CHECK(calls[which].wait(&open_mask, NULL) == -1 && errno == EINTR);
        CHECK_IS(arrived, round + 1);
        check_outside(name);
    }
    for (int round = 0; round < 150; round++) { /* coming about now */
        handle(SIGUSR1, on_signal, round % 2 ? SA_RESTART : 0);
        once.it_value.tv_nsec = 1 + next_random(&random) % 30000;
        timer_settime(timer, 0, &once, NULL);
        CHECK(calls[which].wait(&open_mask, NULL) == -1 && errno == EINTR);
        CHECK_IS(arrived, 51 + round);
        check_outside(name);
    }
    /* A descriptor that is ready is told, and the signal stays pending. */
    raise(SIGUSR1);
    CHECK_IS(write(fds[1], "x", 1), 1);
    CHECK_IS(calls[which].wait(&open_mask, NULL), 1);
    CHECK_IS(arrived, 200);
    CHECK(is_pending(SIGUSR1));
    check_outside(name);
    /* Without a mask nothing is let in, and the time runs out. */
    CHECK_IS(read(fds[0], &byte, 1), 1);
    CHECK_IS(calls[which].wait(NULL, &soon), 0);
    CHECK_IS(arrived, 200);
    CHECK(calls[which].wait(&open_mask, &soon) == -1 && errno == EINTR);
    CHECK_IS(arrived, 201);
    CHECK_IS(calls[which].wait(&open_mask, &soon), 0);
    check_outside(name);
    say("%s: %d signals\n", name, arrived);
}

int main(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct epoll_event in = {.events = EPOLLIN};
    timer_t timer;
    watchdog(WATCHDOG_SECONDS);
    epoll_fd = epoll_create1(0);
    must(epoll_fd >= 0 && !pipe(fds) && !epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fds[0], &in),
         "make a pipe");
    must(!timer_create(CLOCK_MONOTONIC, &event, &timer), "create a timer");
    handle(SIGUSR1, on_signal, 0);
    sigemptyset(&open_mask);
    sigemptyset(&outside);
    sigaddset(&outside, SIGUSR1);
    sigaddset(&outside, SIGUSR2);
    sigprocmask(SIG_SETMASK, &outside, NULL);
    for (int i = 0; i < 4; i++)
        one_call(i, timer);
    return verdict();
}
