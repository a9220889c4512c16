/* SPDX-License-Identifier: MIT */
/* A program stopped and continued at any moment of a blocking call notices nothing: no EINTR, no sleep cut short, no
 * lost wake. */
#include "check.h"
#include <linux/futex.h>
#include <poll.h>
#include <sys/select.h>

enum { SLEEP_NS = 20000000, ROUNDS = 4 };

static int fds[2];

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static long do_nanosleep(void)
{
    return nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
}

static long do_clock_nanosleep(void)
{
    int64_t until = now_ns() + SLEEP_NS;
    struct timespec at = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static long do_poll(void)
{
    return poll(NULL, 0, SLEEP_NS / 1000000);
}

static long do_select(void)
{
    struct timeval limit = {.tv_usec = SLEEP_NS / 1000};
    return select(0, NULL, NULL, NULL, &limit);
}

static long do_futex(void)
{
    static int word;
    struct timespec limit = {.tv_nsec = SLEEP_NS};
    return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &limit, NULL, 0) == -1 && errno == ETIMEDOUT
               ? 0
               : -1;
}

static long do_read(void)
{
    char byte;
    return read(fds[0], &byte, 1) == 1 ? 0 : -1;
}

static long do_wait(void)
{
    pid_t pid = fork_watched();
    if (!pid) {
        usleep(SLEEP_NS / 1000);
        _exit(9);
    }
    int status;
    return waitpid(pid, &status, 0) == pid && status == 9 << 8 ? 0 : -1;
}

static const struct {
    const char *name;
    long (*wait)(void);
    bool is_timed;
} calls[] = {
    {"nanosleep", do_nanosleep, true}, {"clock_nanosleep", do_clock_nanosleep, true},
    {"poll", do_poll, true},           {"select", do_select, true},
    {"futex", do_futex, true},         {"read", do_read, false},
    {"wait", do_wait, false},
};

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    must(!pipe(fds), "make a pipe");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        pid_t pid = fork_watched();
        if (!pid) {
            int64_t start = now_ns();
            long result = calls[i].wait();
            bool too_short = calls[i].is_timed && now_ns() - start < SLEEP_NS;
            _exit(result ? 1 : too_short ? 2 : 0);
        }
        for (int round = 0; round < ROUNDS; round++) {
            int status;
            usleep(500 * round);
            kill(pid, SIGSTOP);
            pid_t got = waitpid(pid, &status, WUNTRACED);
            if (got == pid && !WIFSTOPPED(status)) {
                CHECK_IS(status, 0);
                goto next; /* it was already over */
            }
            CHECK(got == pid && WSTOPSIG(status) == SIGSTOP);
            kill(pid, SIGCONT);
            CHECK_IS(waitpid(pid, &status, WCONTINUED), pid);
            if (!WIFCONTINUED(status)) { /* over before we looked */
                CHECK_IS(status, 0);
                goto next;
            }
        }
        if (calls[i].wait == do_read)
            must(write(fds[1], "x", 1) == 1, "write");
        CHECK_IS(status_of(pid), 0);
    next:
        say("%s\n", calls[i].name);
    }
    return verdict();
}
