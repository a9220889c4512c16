/* SPDX-License-Identifier: MIT */
/* Deep stacks of different kinds, for much longer than a period of a budget: what was called before a gap is found again behind it. */
#include <alloca.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern char __executable_start[];

static volatile unsigned long sink;

__attribute__((noinline, noclone)) static void leaf(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        sink += i * n;
}

__attribute__((noinline, noclone)) static void odd(int n);

__attribute__((noinline, noclone)) static void even(int n)
{
    char room[64];
    memset(room, n, sizeof room);
    leaf(3000);
    if (n)
        odd(n - 1);
    sink += (unsigned long)room[3];
}

/* A frame whose size is not known to the compiler. */
__attribute__((noinline, noclone)) static void odd(int n)
{
    volatile char *room = alloca((size_t)(16 + 32 * (n % 5)));
    room[1] = 1;
    leaf(1000);
    if (n)
        even(n - 1);
    sink += (unsigned long)room[1];
}

/* One that is aligned anew. */
__attribute__((noinline, noclone)) static void aligned(int n)
{
    volatile char room[128] __attribute__((aligned(128)));
    room[n & 127] = 1;
    leaf(2000);
    even(n);
    sink += (unsigned long)room[n & 127];
}

/* One that is larger than what is looked at for the others. */
__attribute__((noinline, noclone)) static void large(int n)
{
    volatile char room[100000];
    room[n] = 1;
    leaf(2000);
    aligned(n);
    sink += (unsigned long)room[n];
}

static int compare(const void *a, const void *b)
{
    leaf(50);
    return *(const int *)a - *(const int *)b;
}

static void *work(void *argument)
{
    int a[100];
    for (int k = 0; k < *(int *)argument; k++) {
        even(20);
        odd(7);
        aligned(3);
        large(5);
        for (int i = 0; i < 100; i++)
            a[i] = (i * 7919 + k) % 100;
        qsort(a, 100, sizeof a[0], compare);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t thread;
    pthread_attr_t attributes;
    size_t size = 192 << 10;
    /* The program's code is right behind the thread's stack. */
    void *stack = mmap(__executable_start - size, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (stack == MAP_FAILED)
        return 2;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, size);
    pthread_create(&thread, &attributes, work, &rounds);
    pthread_join(thread, NULL);
    work(&rounds);
    return sink == 1;
}
