/* SPDX-License-Identifier: MIT */
/* The process ends while detached threads live, threads wait at a barrier, exit handlers run, and threads that end at
 * that very moment; also threads by the thousand, one after the other. */
#include "check.h"
#include <pthread.h>

static pthread_barrier_t barrier;
static volatile int churned;

static void *at_barrier(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&barrier);
    return NULL; /* all end at once, with the process */
}

static void *detached(void *arg)
{
    pthread_detach(pthread_self());
    for (volatile long i = (long)arg;; i++)
        if (i % 1000 == 0)
            usleep(10);
    return NULL;
}

static void *short_life(void *arg)
{
    __sync_fetch_and_add(&churned, 1);
    if ((long)arg % 3 == 1)
        pthread_exit(NULL);
    if ((long)arg % 3 == 2)
        pthread_detach(pthread_self());
    return NULL;
}

static void said_at_exit(void)
{
    say("said at exit\n");
}

static int through_barriers(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 11);
    for (int i = 0; i < 10; i++)
        pthread_create(&thread, NULL, at_barrier, NULL);
    pthread_barrier_wait(&barrier);
    exit(21);
}

static int with_detached(void)
{
    pthread_t thread;
    for (long i = 0; i < 5; i++)
        pthread_create(&thread, NULL, detached, (void *)i);
    return 22;
}

/* The last thread to leave ends the process, with 0. */
static int main_leaves_first(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 5);
    for (int i = 0; i < 5; i++)
        pthread_create(&thread, NULL, at_barrier, NULL);
    pthread_exit(NULL);
}

static void churn(void)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 32768);
    for (long i = 0; i < 600; i++) {
        pthread_t thread;
        must(!pthread_create(&thread, &attr, short_life, (void *)i), "create a thread");
        if (i % 3 != 2)
            pthread_join(thread, NULL);
    }
    while (churned < 600)
        sched_yield();
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    for (int i = 0; i < 5; i++) {
        CHECK_IS(status_in_child(through_barriers), 21 << 8);
        CHECK_IS(status_in_child(with_detached), 22 << 8);
        CHECK_IS(status_in_child(main_leaves_first), 0);
    }
    churn();
    atexit(said_at_exit);
    int status = verdict();
    pthread_t thread;
    for (long i = 0; i < 5; i++)
        pthread_create(&thread, NULL, detached, (void *)i);
    return status;
}
