/* SPDX-License-Identifier: MIT */
/* Real, virtual and profiling timers at once, over a program that computes, allocates, prints and forks: its results are
 * right, every timer comes through, and processes exit well in the middle of the storm. */
#include "check.h"
#include <pthread.h>
#include <sys/time.h>

enum { POSIX_TIMERS = 4, EACH = 8, CHILDREN = 20 };

static volatile int hits[65];
static volatile long stuck, slower = 1;

static void start_timers(void);

static void on_timer(int sig, siginfo_t *info, void *context)
{
    int saved = errno;
    (void)info, (void)context;
    __sync_fetch_and_add(&hits[sig], 1);
    /* Where handlers take longer than the timers wait, nothing else would ever run. */
    if (++stuck > 1000) {
        stuck = 0;
        slower *= 2;
        start_timers();
    }
    errno = saved;
}

static timer_t timers[POSIX_TIMERS];

static void start_timers(void)
{
    struct itimerval often = {.it_value.tv_usec = 500 * slower,
                              .it_interval.tv_usec = 500 * slower};
    for (int i = 0; i < POSIX_TIMERS; i++) {
        long ns = 100000 * (i + 1) * slower;
        struct itimerspec every = {.it_value.tv_nsec = ns, .it_interval.tv_nsec = ns * 13 / 10};
        timer_settime(timers[i], 0, &every, NULL);
    }
    setitimer(ITIMER_REAL, &often, NULL);
    setitimer(ITIMER_VIRTUAL, &often, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
}

static void start(void)
{
    for (int i = 0; i < POSIX_TIMERS; i++) {
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + i};
        clockid_t clock = i % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        handle(SIGRTMIN + i, on_timer, SA_RESTART);
        must(!timer_create(clock, &event, &timers[i]), "create a timer");
    }
    handle(SIGALRM, on_timer, SA_RESTART);
    handle(SIGVTALRM, on_timer, SA_RESTART);
    handle(SIGPROF, on_timer, SA_RESTART);
    start_timers();
}

static bool all_came(void)
{
    for (int i = 0; i < POSIX_TIMERS; i++)
        if (hits[SIGRTMIN + i] < EACH)
            return false;
    return hits[SIGALRM] >= EACH && hits[SIGVTALRM] >= EACH && hits[SIGPROF] >= EACH;
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Sorting, floating point, allocation, text: a number that is the same each time. */
static long some_work(uint32_t seed)
{
    enum { N = 300 };
    int *list = malloc(N * sizeof *list);
    double sum = 0;
    char text[32];
    for (int i = 0; i < N; i++)
        list[i] = next_random(&seed) >> 8;
    qsort(list, N, sizeof *list, by_value);
    for (int i = 1; i < N; i++) {
        if (list[i] < list[i - 1])
            return -1;
        sum += list[i] / 3.0;
    }
    snprintf(text, sizeof text, "%.3f", sum);
    free(list);
    return atol(text);
}

static void *thread_exits_process(void *arg)
{
    exit((int)(long)arg);
}

/* Leave in one of several ways while timers fire. */
static void leave(int way)
{
    pthread_t thread;
    start(); /* timers are not inherited */
    some_work(way);
    switch (way % 4) {
    case 0:
        exit(way);
    case 1:
        _exit(way);
    case 2:
        pthread_create(&thread, NULL, thread_exits_process, (void *)(long)way);
        pthread_join(thread, NULL);
        break;
    default:
        pthread_create(&thread, NULL, thread_exits_process, (void *)(long)way);
        pthread_exit(NULL);
    }
}

int main(void)
{
    long first = some_work(1), rounds = 0;
    watchdog(WATCHDOG_SECONDS);
    note_text();
    start();
    while (!all_came() || rounds < 20) {
        CHECK_IS(some_work(1), first);
        rounds++;
        stuck = 0;
    }
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork_watched();
        if (!pid)
            leave(i);
        CHECK_IS(status_of(pid), i << 8);
    }
    say("%ld\n", first);
    return verdict();
}
