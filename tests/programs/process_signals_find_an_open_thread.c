/* SPDX-License-Identifier: MIT */
/* A signal for the process goes to a thread that does not block it, a signal for a thread to that thread, and one that
 * all block waits until somebody opens. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, SIGNALS = 200 };

static pthread_barrier_t barrier;
static __thread int own_number = -1;
static volatile int by_thread[THREADS + 1], values[SIGNALS + 1];
static volatile int open_thread, arrived, quit, asked;
static int wake[THREADS][2];

static void on_signal(int sig, siginfo_t *info, void *context)
{
    (void)context;
    CHECK_IS(sig, SIGRTMIN);
    by_thread[own_number]++;
    values[info->si_value.sival_int]++;
    __sync_fetch_and_add(&arrived, 1);
}

static void on_direct(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)info, (void)context;
    by_thread[own_number]++;
    __sync_fetch_and_add(&arrived, 1);
}

static void *work(void *arg)
{
    char byte;
    own_number = (int)(long)arg;
    pthread_barrier_wait(&barrier);
    while (read(wake[own_number][0], &byte, 1) != 1 || byte != 'q') {
        if (byte == 'o')
            unblock(SIGRTMIN);
        if (byte == 'c')
            block(SIGRTMIN);
        __sync_fetch_and_add(&asked, 1);
    }
    return NULL;
}

/* Tell a thread to open, close or quit; wait until it has. */
static void ask(int thread, char what)
{
    int before = asked;
    must(write(wake[thread][1], &what, 1) == 1, "tell a thread");
    while (what != 'q' && asked == before)
        sched_yield();
}

static void wait_for(int count)
{
    while (arrived < count)
        sched_yield();
    CHECK_IS(arrived, count);
}

int main(void)
{
    pthread_t thread[THREADS];
    int sent = 0;
    watchdog(WATCHDOG_SECONDS);
    own_number = THREADS;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    handle(SIGRTMIN, on_signal, SA_RESTART);
    handle(SIGUSR1, on_direct, SA_RESTART);
    block(SIGRTMIN);
    for (long i = 0; i < THREADS; i++)
        must(!pipe(wake[i]) && !pthread_create(&thread[i], NULL, work, (void *)i),
             "create a thread");
    pthread_barrier_wait(&barrier);

    for (int i = 0; i < THREADS; i++) { /* one open thread after the other */
        ask(i, 'o');
        for (int n = 0; n < SIGNALS / THREADS; n++) {
            sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = sent++});
            wait_for(sent);
        }
        CHECK_IS(by_thread[i], SIGNALS / THREADS);
        ask(i, 'c');
    }
    for (int n = 0; n < SIGNALS; n++)
        CHECK_IS(values[n], 1);

    /* Nobody is open: it waits; then this thread opens, and gets it before the call returns. */
    sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = SIGNALS});
    usleep(1000);
    CHECK_IS(arrived, SIGNALS);
    unblock(SIGRTMIN);
    CHECK_IS(by_thread[THREADS], 1);
    block(SIGRTMIN);

    /* To a thread by name, which blocks in read. */
    arrived = 0;
    for (int n = 0; n < 40; n++) {
        int before = by_thread[n % THREADS];
        pthread_kill(thread[n % THREADS], SIGUSR1);
        wait_for(n + 1);
        CHECK_IS(by_thread[n % THREADS], before + 1);
    }
    for (int i = 0; i < THREADS; i++) {
        ask(i, 'q');
        pthread_join(thread[i], NULL);
    }
    return verdict();
}
