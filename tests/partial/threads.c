// SPDX-License-Identifier: MIT
// Threads made inside a function, and outside of it.
#include <pthread.h>

static volatile int sink;

__attribute__((noinline)) void inside(void)
{
    sink++;
}

__attribute__((noinline)) void outside(void)
{
    sink--;
}

static void *run(void *f)
{
    for (int i = 0; i < 10; i++)
        ((void (*)(void))f)();
    return 0;
}

static void make(void (*f)(void), int n)
{
    pthread_t t[8];
    for (int i = 0; i < n; i++)
        pthread_create(&t[i], 0, run, (void *)f);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], 0);
}

__attribute__((noinline)) void makes_threads(void)
{
    make(inside, 3);
    sink++;
}

int main(void)
{
    make(outside, 2);
    makes_threads();
    make(outside, 2);
    return 0;
}
