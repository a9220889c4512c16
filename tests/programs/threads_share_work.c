/* SPDX-License-Identifier: MIT */
/* Threads that come and go, share counters under a mutex, wait on a condition and end in every usual way. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 200, ROUNDS = 4, STEPS = 500 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_there = PTHREAD_COND_INITIALIZER;
static int arrived;
static long total;
static __thread long own;

static void *work(void *arg)
{
    long id = (long)arg;
    pthread_mutex_lock(&lock);
    if (++arrived == THREADS)
        pthread_cond_broadcast(&all_there);
    while (arrived < THREADS)
        pthread_cond_wait(&all_there, &lock);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < STEPS; i++) {
        own += (id + 1) * i % 7;
        if (i % 10 == 0) {
            pthread_mutex_lock(&lock);
            total += own;
            own = 0;
            pthread_mutex_unlock(&lock);
        }
    }
    if (id % 3 == 0)
        pthread_exit((void *)own);
    return (void *)own;
}

int main(void)
{
    pthread_t t[THREADS];
    long rests = 0;
    for (int r = 0; r < ROUNDS; r++) {
        arrived = 0;
        for (long i = 0; i < THREADS; i++)
            if (pthread_create(&t[i], NULL, work, (void *)i)) {
                perror("pthread_create");
                return 1;
            }
        for (int i = 0; i < THREADS; i++) {
            void *rest;
            pthread_join(t[i], &rest);
            rests += (long)rest;
        }
    }
    printf("%ld\n", total + rests);
    return 0;
}
