/* SPDX-License-Identifier: MIT */
/* Threads that pass a few lines of memory from one to the next, while all count into one word. */
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 60, WORDS = 32 };

static volatile long words[WORDS];
static volatile int turn;
static long total;

static void *work(void *arg)
{
    int own = (int)(long)arg;
    for (int round = 0; round < ROUNDS; round++) {
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) % THREADS != own)
            __builtin_ia32_pause();
        for (int i = 0; i < WORDS; i++)
            words[i] += own + i;
        __atomic_fetch_add(&total, words[round % WORDS], __ATOMIC_RELAXED);
        __atomic_fetch_add(&turn, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, work, (void *)i))
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    printf("%ld\n", total);
    return 0;
}
