/* SPDX-License-Identifier: MIT */
/* Two threads, and a child with one, that work and sleep in turn; what they print does not depend on time. Their work is slow, so that a
 * millisecond of it has few instructions. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone))

static uint64_t table[64];
static int rounds, calls = 3000, nap = 1000000;

OWN uint64_t leaf(uint64_t x)
{
    for (int i = 0; i < 8; i++)
        __builtin_ia32_pause();
    return x * 6364136223846793005u + 1;
}

OWN uint64_t inner(uint64_t x, int n)
{
    for (int i = 0; i < n; i++)
        x = leaf(x) ^ __atomic_load_n(&table[x & 63], __ATOMIC_RELAXED);
    return x;
}

/* With a stack that is deeper than in inner. */
OWN uint64_t outer(uint64_t x, int n)
{
    volatile uint64_t room[32];
    room[x & 31] = x;
    for (int i = 0; i < n; i++)
        x = leaf(x);
    return x;
}

static void *work(void *seed)
{
    uint64_t x = (uintptr_t)seed;
    for (int i = 0; i < rounds; i++) {
        x = outer(inner(x, calls), calls);
        nanosleep(&(struct timespec){0, nap}, NULL);
    }
    return (void *)(uintptr_t)x;
}

int main(int argc, char **argv)
{
    pthread_t a, b;
    void *x, *y;
    rounds = argc > 1 ? atoi(argv[1]) : 20;
    if (argc > 3) {
        calls = atoi(argv[2]);
        nap = atoi(argv[3]);
    }
    pid_t child = fork();
    if (!child) {
        rounds /= 4;
        printf("child %lx\n", (unsigned long)(uintptr_t)work((void *)3));
        return 0;
    }
    waitpid(child, NULL, 0);
    pthread_create(&a, NULL, work, (void *)1);
    pthread_create(&b, NULL, work, (void *)2);
    pthread_join(a, &x);
    pthread_join(b, &y);
    printf("%lx %lx\n", (unsigned long)(uintptr_t)x, (unsigned long)(uintptr_t)y);
    return 0;
}
