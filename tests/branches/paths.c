/* SPDX-License-Identifier: MIT */
/* Branches of every kind: by chance, in patterns, one decided by another; calls through pointers, a switch, deep recursion. With an
 * argument, several threads and a child do this at the same time. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 300, DEPTH = 40 };

static volatile int sink[4];
static char area[40000];

static uint32_t next(uint32_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return *x;
}

__attribute__((noinline)) static int descend(int n)
{
    return n ? descend(n - 1) + sink[n & 3] : 0;
}

__attribute__((noinline)) static int one(int x) { return x + sink[0]; }
__attribute__((noinline)) static int two(int x) { return x ^ sink[1]; }
__attribute__((noinline)) static int three(int x) { return x - sink[2]; }
static int (*const volatile calls[])(int) = {one, two, three};

__attribute__((noinline)) static int choose(uint32_t x)
{
    switch (x % 7) {
    case 0: return sink[0]++;
    case 1: return sink[1]--;
    case 2: return sink[2] + 3;
    case 3: return sink[3] * 5;
    case 4: sink[1] = 2; return 1;
    case 5: sink[0] = 1; return 4;
    default: sink[2] = 7; return 2;
    }
}

static void *work(void *seed)
{
    uint32_t x = (uint32_t)(uintptr_t)seed;
    int sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t r = next(&x);
        if (r & 1)
            sink[0] = i;
        if (i % 5 == 2)
            sink[1] = i;
        for (int k = 0; k < (i & 7); k++)
            sink[2] += k;
        if ((r & 1) && i % 3)
            sink[3] ^= i;
        sum += calls[i % 3](i) + calls[(r >> 8) % 3](i) + choose(i % 2 ? r >> 4 : 3);
        if (i % 64 == 0)
            sum += descend(DEPTH);
    }
    void *to = area; /* one instruction with very many references */
    size_t n = sizeof area;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(sum) : "memory");
    sink[0] = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[2];
    (void)argv;
    if (argc < 2) {
        work((void *)(uintptr_t)77);
        return 0;
    }
    pid_t child = fork();
    for (uintptr_t i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, work, (void *)(i + 5));
    work((void *)(uintptr_t)9);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    if (!child)
        _exit(0);
    waitpid(child, NULL, 0);
    return 0;
}
