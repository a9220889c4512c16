/* SPDX-License-Identifier: MIT */
/* Loops for which lines could be asked for ahead, and loops for which that would not help or cannot be done. */
#include <sys/syscall.h>

enum { N = 2048, ROUNDS = 2 };

long forward[N], backward[N], far[3 * 8 * 512], resident[16], rows[64 * 256], hashed[N], table[N], chain[N];
unsigned index_of[N];
long sum;

/* Steps of 8 bytes, and fewer instructions than in the others. */
static __attribute__((noinline)) void go_forward(void)
{
    for (int i = 0; i < N; i++)
        sum += forward[i];
}

/* Steps of -16 bytes, writes; and more instructions in each fourth step. */
static __attribute__((noinline)) void go_backward(void)
{
    for (int i = N - 2; i >= 0; i -= 2) {
        backward[i] = i;
        if (i % 8 == 0)
            for (volatile int k = 0; k < 5;)
                k++;
    }
}

/* Steps of 192 bytes: each touch another line. */
static __attribute__((noinline)) void go_far(void)
{
    for (int i = 0; i < 512; i++)
        sum += far[24 * i];
}

/* In the cache, but for the first time. */
static __attribute__((noinline)) void stay(void)
{
    for (int k = 0; k < 64; k++)
        for (int i = 0; i < 16; i++)
            sum += resident[i];
}

/* Eight steps, and then somewhere else: what is ahead is not needed. */
static __attribute__((noinline)) void go_in_rows(void)
{
    for (unsigned k = 0; k < 256; k++)
        for (unsigned i = 0; i < 8; i++)
            sum += rows[k * 37 % 256 * 64 + i];
}

/* Anywhere, by computing. */
static __attribute__((noinline)) void go_hashed(void)
{
    for (unsigned i = 0; i < N; i++)
        sum += hashed[(i * 2654435761u >> 16) % N];
}

/* Anywhere, by an index that is read in order. */
static __attribute__((noinline)) void gather(void)
{
    for (int i = 0; i < N; i++)
        sum += table[index_of[i]];
}

/* Anywhere, and where is only known from the last one. */
static __attribute__((noinline)) void chase(void)
{
    for (long at = chain[0]; at; at = chain[at])
        sum++;
}

__attribute__((force_align_arg_pointer)) void _start(void)
{
    for (unsigned i = 0, any = 1; i < N; i++) {
        any = any * 1103515245 + 12345;
        index_of[i] = (any >> 16) % N;
        chain[i] = (i * 1237 + 2111) % N;
    }
    for (int i = 0; i < ROUNDS; i++) {
        go_forward();
        go_backward();
        go_far();
        stay();
        go_in_rows();
        go_hashed();
        gather();
        chase();
    }
    __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(0L));
}
