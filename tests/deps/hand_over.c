/* SPDX-License-Identifier: MIT */
/* Threads that pass a few lines of memory from one to the next, while all count into one word. */
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 60, WORDS = 32 };

static volatile long words[WORDS];
static long total;
static pthread_barrier_t barrier;

static void *work(void *arg)
{
    int own = (int)(long)arg;
    for (int round = 0; round < ROUNDS; round++) {
        if (round % THREADS == own)
            for (int i = 0; i < WORDS; i++)
                words[i] += own + i;
        __atomic_fetch_add(&total, words[round % WORDS], __ATOMIC_RELAXED);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, work, (void *)i))
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
