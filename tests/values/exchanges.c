/* SPDX-License-Identifier: MIT */
/* Threads that race on three words with locked instructions, and each writes an array of its own; prints where all of that is, and what the arrays have
 * in the end. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { THREADS = 3, ROUNDS = 12000, OWN = 64 };

static uint64_t sum, maximum, token;
static uint32_t own[THREADS][OWN];
static pthread_barrier_t begin;

static void *work(void *number)
{
    uint64_t me = (uintptr_t)number, mine = me + 1, old;
    uint32_t x = (uint32_t)me * 77777 + 1;

    pthread_barrier_wait(&begin);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t one = 1, next;

        __asm__ volatile("lock xaddq %0, %1" : "+r"(one), "+m"(sum));
        __asm__ volatile("xchgq %0, %1" : "+r"(mine), "+m"(token));
        old = maximum;
        do
            next = old + 2;
        while (!__atomic_compare_exchange_n(&maximum, &old, next, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
        x = x * 1664525 + 1013904223;
        own[me][x >> 26] = x;
    }
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS];

    pthread_barrier_init(&begin, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    printf("%lx %lx %lx %lx %d\n", (long)&sum, (long)&maximum, (long)&token, (long)own, THREADS * ROUNDS);
    for (int i = 0; i < THREADS * OWN; i++)
        printf("%08x\n", own[i / OWN][i % OWN]);
    return 0;
}
