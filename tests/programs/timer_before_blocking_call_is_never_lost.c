/* SPDX-License-Identifier: MIT */
/* A timer tuned to fire just before a blocking call leaves it by siglongjmp: no call ever sleeps on, and the handler
 * finds the program either before the call, at it or after it, with the registers that belong there.
 *
 *   [ROUNDS]     default 1000 */
/* long: 10000 */
#include "check.h"
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>

long raw_call(long number, long a, long b, long c, long d, long e);
extern const char raw_call_at[], raw_call_after[];
/* The sixth argument of futex and the like is not needed: r9 is 0. */
asm(".globl raw_call, raw_call_at, raw_call_after\n"
    "raw_call:\n"
    "    mov %rdi, %rax\n"
    "    mov %rsi, %rdi\n"
    "    mov %rdx, %rsi\n"
    "    mov %rcx, %rdx\n"
    "    mov %r8, %r10\n"
    "    mov %r9, %r8\n"
    "    xor %r9d, %r9d\n"
    "raw_call_at:\n"
    "    syscall\n"
    "raw_call_after:\n"
    "    ret\n");

static int pipe_fds[2], epoll_fd, futex_word;
static struct timespec hour = {.tv_sec = 3600};
static struct pollfd poll_fd;
static char byte;

/* Calls that sleep for good, and whether SA_RESTART lets them start again. */
static struct call {
    const char *name;
    long number, arg[5];
    bool restarts;
} calls[] = {
    {"read", SYS_read, {0}, true},
    {"pause", SYS_pause, {0}, false},
    {"futex", SYS_futex, {(long)&futex_word, FUTEX_WAIT, 0, 0, 0}, true},
    {"poll", SYS_poll, {(long)&poll_fd, 1, -1}, false},
    {"nanosleep", SYS_nanosleep, {(long)&hour, 0}, false},
    {"epoll_wait", SYS_epoll_wait, {0}, false},
    {"clock_nanosleep", SYS_clock_nanosleep, {CLOCK_MONOTONIC, 0, (long)&hour, 0}, false},
    {"select", SYS_select, {0, 0, 0, 0, 0}, false},
};
enum { CALLS = sizeof calls / sizeof *calls };

static sigjmp_buf out;
static struct call *volatile now;
static volatile bool restart;
static volatile long arrived, before;

static void on_timer(int sig, siginfo_t *info, void *context)
{
    const greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    const char *pc = (const char *)reg[REG_RIP];
    (void)sig, (void)info;
    arrived++;
    if (pc == raw_call_at) {
        CHECK_IS(reg[REG_RAX], now->number);
        CHECK_IS(reg[REG_RDI], now->arg[0]);
        CHECK_IS(reg[REG_RSI], now->arg[1]);
        CHECK_IS(reg[REG_RDX], now->arg[2]);
        CHECK_IS(reg[REG_R10], now->arg[3]);
    } else if (pc == raw_call_after) {
        CHECK_IS(reg[REG_RAX], -EINTR);
        CHECK_IS(reg[REG_RCX], (long)raw_call_after);
        CHECK(!restart || !now->restarts);
    } else {
        before++;
        CHECK(is_own_text(reg[REG_RIP]));
    }
    siglongjmp(out, 1);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    static volatile long round, delay = 3000;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct epoll_event none[1];
    timer_t timer;
    watchdog(WATCHDOG_SECONDS + rounds / 100);
    note_text();
    epoll_fd = epoll_create1(0);
    must(!pipe(pipe_fds) && epoll_fd >= 0, "make descriptors");
    must(!timer_create(CLOCK_MONOTONIC, &event, &timer), "create a timer");
    memcpy(calls[0].arg, (long[]){pipe_fds[0], (long)&byte, 1}, 3 * sizeof(long));
    memcpy(calls[5].arg, (long[]){epoll_fd, (long)none, 1, -1}, 4 * sizeof(long));
    poll_fd = (struct pollfd){.fd = pipe_fds[0], .events = POLLIN};
    for (round = 0; round < rounds; round++) {
        long before_before = before;
        restart = round / CALLS % 2;
        now = &calls[round % CALLS];
        handle(SIGUSR1, on_timer, restart ? SA_RESTART : 0);
        if (!sigsetjmp(out, 1)) {
            struct itimerspec once = {.it_value.tv_nsec = delay};
            timer_settime(timer, 0, &once, NULL);
            long result = raw_call(now->number, now->arg[0], now->arg[1], now->arg[2], now->arg[3],
                                   now->arg[4]);
            fail("%s returned %ld\n", now->name, result);
        }
        CHECK_IS(arrived, round + 1);
        CHECK(!is_blocked(SIGUSR1));
        /* Creep towards the call, from both sides; now and then sleep in it for sure. */
        delay += before > before_before ? 100 : -100;
        if (delay < 1 || delay > 500000 || round % 50 == 0)
            delay = 3000;
        if (round % 50 == 49)
            delay = 200000;
    }
    say("%ld rounds, %ld signals\n", rounds, arrived);
    return verdict();
}
