/* SPDX-License-Identifier: MIT */
/* Nested functions whose address is taken are called through code on the stack, at ever the same and ever new places. */
/* build: -z execstack -Wno-trampolines */
#include "check.h"
#include <pthread.h>

__attribute__((noinline)) static long apply(long (*f)(long), long x)
{
    asm volatile("" : "+r"(f));
    return f(x);
}

/* The same slot of the stack holds another trampoline in each turn. */
__attribute__((noinline)) static long one(long a)
{
    long add(long x)
    {
        return x + a;
    }
    return apply(add, 1);
}

__attribute__((noinline)) static long two(long a)
{
    long multiply(long x)
    {
        return x * a;
    }
    return apply(multiply, 3);
}

/* Many at once, one per level. */
__attribute__((noinline)) static long levels(int n, long (*outer)(long))
{
    long here(long x)
    {
        return outer ? outer(x + n) : x + n;
    }
    return n ? levels(n - 1, here) : apply(here, 0);
}

static int by_distance(const void *base, size_t n, long centre)
{
    long sum = 0;
    int closer(const void *a, const void *b)
    {
        long x = labs(*(const long *)a - centre), y = labs(*(const long *)b - centre);
        return (x > y) - (x < y);
    }
    long copy[50];
    memcpy(copy, base, n * sizeof *copy);
    qsort(copy, n, sizeof *copy, closer);
    for (size_t i = 0; i < n; i++)
        sum = sum * 7 + copy[i];
    return (int)sum;
}

static void *work(void *arg)
{
    long salt = (long)arg, sum = 0;
    for (long i = 0; i < 500; i++) {
        CHECK_IS(one(i + salt), i + salt + 1);
        CHECK_IS(two(i + salt), 3 * (i + salt));
    }
    for (int i = 0; i < 30; i++)
        sum += levels(i, NULL);
    CHECK_IS(sum, 4495);
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    long list[50];
    watchdog(WATCHDOG_SECONDS);
    for (int i = 0; i < 50; i++)
        list[i] = i * 37 % 50;
    for (long i = 0; i < 2; i++)
        must(!pthread_create(&thread[i], NULL, work, (void *)(i * 1000)), "create a thread");
    work((void *)5);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 10; i++)
        say("%d\n", by_distance(list, 50, 5 * i));
    return verdict();
}
