/* SPDX-License-Identifier: MIT */
/* The same instruction comes to the same bytes of the stack, where another variable is then: its function was called from another depth. */
#include <alloca.h>
#include <stdio.h>

enum { N = 32 };

/* Through a register, to one of two arrays; tell where that is. */
static __attribute__((noinline, noclone)) long *either(int second)
{
    volatile long first_array[N], second_array[N];
    volatile long *at = second ? second_array : first_array;
    __asm__ volatile("" : "+r"(at) : "r"(first_array), "r"(second_array) : "memory");
    for (int i = 0; i < N; i++)
        at[i] = i;
    long *told = (long *)at;
    __asm__ volatile("" : "+r"(told));
    return told;
}

/* Always to the same one, in different places. */
static __attribute__((noinline, noclone)) long *always(int ignored)
{
    volatile long only_array[N], other_array[N];
    volatile long *at = only_array;
    __asm__ volatile("" : "+r"(at) : "r"(only_array), "r"(other_array), "r"(ignored) : "memory");
    for (int i = 0; i < N; i++)
        at[i] = i;
    long *told = (long *)at;
    __asm__ volatile("" : "+r"(told));
    return told;
}

static __attribute__((noinline, noclone)) long *deeper(long *(*f)(int), int argument, int bytes)
{
    volatile char *room = alloca(bytes);
    room[0] = 1;
    long *told = f(argument);
    room[0] = 2;
    return told;
}

int main(void)
{
    int same = 0;
    for (int bytes = 0; bytes < 2048; bytes += 16)
        for (int second = 0; second < 2; second++)
            same += deeper(either, second, 1024) == deeper(either, !second, bytes);
    for (int bytes = 0; bytes < 2048; bytes += 16)
        deeper(always, 0, bytes);
    printf("%d\n", same);
    return 0;
}
