/* SPDX-License-Identifier: MIT */
/* Blocked signals are fetched by signalfd, sigwaitinfo and sigtimedwait with all their contents and no handler run; also
 * those that faults raise, when somebody sends them. */
#include "check.h"
#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>

static const int sigs[] = {SIGUSR1, SIGCHLD, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
enum { SIGS = sizeof sigs / sizeof *sigs };
static volatile int handled;
static sigset_t all;

static void on_signal(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)info, (void)context;
    handled++;
}

static void queue(int sig, int value)
{
    must(!sigqueue(getpid(), sig, (union sigval){.sival_int = value}), "queue a signal");
}

static bool is_pending(int sig)
{
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, sig) == 1;
}

static void by_descriptor(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    struct signalfd_siginfo got[4];
    CHECK_IS(poll(&p, 1, 0), 0);
    CHECK(read(fd, got, sizeof got) == -1 && errno == EAGAIN);
    for (int i = 0; i < SIGS; i++) {
        queue(sigs[i], 100 + i);
        CHECK(is_pending(sigs[i]));
        CHECK_IS(poll(&p, 1, 0), 1);
        CHECK_IS(read(fd, got, sizeof got), sizeof *got);
        CHECK_IS(got->ssi_signo, sigs[i]);
        CHECK_IS(got->ssi_code, SI_QUEUE);
        CHECK_IS(got->ssi_int, 100 + i);
        CHECK_IS(got->ssi_pid, getpid());
        CHECK(!is_pending(sigs[i]));
    }
    queue(SIGRTMIN, 1);
    queue(SIGRTMIN, 2);
    queue(SIGRTMIN + 1, 3);
    CHECK_IS(read(fd, got, sizeof got), 3 * sizeof *got);
    CHECK(got[0].ssi_int == 1 && got[1].ssi_int == 2 && got[2].ssi_int == 3);
}

static void by_waiting(void)
{
    const struct timespec none = {0}, little = {.tv_nsec = 2000000};
    siginfo_t info;
    sigset_t one;
    int sig;
    CHECK(sigtimedwait(&all, &info, &none) == -1 && errno == EAGAIN);
    CHECK(sigtimedwait(&all, &info, &little) == -1 && errno == EAGAIN);
    for (int i = 0; i < SIGS; i++) {
        queue(sigs[i], 200 + i);
        CHECK_IS(sigwaitinfo(&all, &info), sigs[i]);
        CHECK_IS(info.si_value.sival_int, 200 + i);
        CHECK_IS(info.si_code, SI_QUEUE);
        kill(getpid(), sigs[i]);
        CHECK_IS(sigtimedwait(&all, &info, &none), sigs[i]);
        CHECK_IS(info.si_code, SI_USER);
        sigemptyset(&one);
        sigaddset(&one, sigs[i]);
        raise(sigs[i]);
        CHECK(!sigwait(&one, &sig) && sig == sigs[i]);
    }
}

/* Sent by another thread while this one sleeps for it. */
static void *send(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++) {
        queue(SIGRTMIN, i);
        if (i % 10 == 0)
            usleep(200);
    }
    return NULL;
}

static void by_sleeping(int fd)
{
    pthread_t thread;
    siginfo_t info;
    struct signalfd_siginfo got;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    must(!pthread_create(&thread, NULL, send, NULL), "create a thread");
    for (int i = 0; i < 200; i++) {
        if (i % 2) {
            CHECK_IS(sigwaitinfo(&all, &info), SIGRTMIN);
            CHECK_IS(info.si_value.sival_int, i);
        } else {
            CHECK_IS(poll(&p, 1, -1), 1);
            CHECK_IS(read(fd, &got, sizeof got), sizeof got);
            CHECK_IS(got.ssi_int, i);
        }
    }
    pthread_join(thread, NULL);
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    sigemptyset(&all);
    for (int i = 0; i < SIGS; i++) {
        handle(sigs[i], on_signal, 0);
        sigaddset(&all, sigs[i]);
    }
    sigaddset(&all, SIGRTMIN);
    sigaddset(&all, SIGRTMIN + 1);
    sigprocmask(SIG_BLOCK, &all, NULL);
    int fd = signalfd(-1, &all, SFD_NONBLOCK);
    must(fd >= 0, "make a signalfd");
    by_descriptor(fd);
    by_waiting();
    by_sleeping(fd);
    CHECK_IS(handled, 0);
    /* What nobody fetched comes to the handler. */
    queue(SIGSEGV, 1);
    queue(SIGUSR1, 1);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    CHECK_IS(handled, 2);
    return verdict();
}
