/* SPDX-License-Identifier: MIT */
/* The handler of a timer writes the byte that the program sleeps for in read: whatever moment it hits, with and without
 * SA_RESTART, no signal is lost and none comes twice.
 *
 *   [ROUNDS]     default 1000 */
/* long: 10000 */
#include "check.h"
#include <sys/ioctl.h>

static int fds[2];
static volatile long arrived;
static volatile unsigned char expected;

static void on_timer(int sig, siginfo_t *info, void *context)
{
    unsigned char byte = expected;
    (void)sig;
    CHECK(is_own_text(((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]));
    CHECK_IS(info->si_code, SI_TIMER);
    CHECK_IS(info->si_overrun, 0);
    arrived++;
    CHECK_IS(write(fds[1], &byte, 1), 1);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1000, bytes = 0;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec once = {0};
    timer_t timer;
    uint32_t random = 1;
    int left;
    watchdog(WATCHDOG_SECONDS + rounds / 100);
    note_text();
    must(!pipe(fds), "make a pipe");
    must(!timer_create(CLOCK_MONOTONIC, &event, &timer), "create a timer");
    for (long round = 0; round < rounds; round++) {
        bool restart = round & 1;
        unsigned char byte = 0;
        handle(SIGUSR1, on_timer, restart ? SA_RESTART : 0);
        expected = (unsigned char)round;
        /* From "already fired when settime returns" to "long asleep". */
        once.it_value.tv_nsec = 1 + next_random(&random) % (round % 10 ? 20000 : 200000);
        must(!timer_settime(timer, 0, &once, NULL), "set the timer");
        ssize_t n = read(fds[0], &byte, 1);
        if (n < 0) {
            CHECK_IS(errno, EINTR);
            CHECK(!restart);
            CHECK_IS(arrived, round + 1);
            n = read(fds[0], &byte, 1);
        }
        CHECK_IS(n, 1);
        CHECK_IS(byte, (unsigned char)round);
        CHECK_IS(arrived, round + 1);
        bytes += n;
    }
    CHECK(!ioctl(fds[0], FIONREAD, &left) && left == 0);
    say("%ld rounds, %ld signals, %ld bytes\n", rounds, arrived, bytes);
    return verdict();
}
