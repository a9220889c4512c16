/* SPDX-License-Identifier: MIT */
/* A program for tools to look at: functions with names, strings of many references, data that nobody reads, signals.
 *
 *     work [TIMES [FILE]]     what it has worked out goes to standard output, and to FILE */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MUCH = 20000 };

static unsigned char source[MUCH], target[MUCH + 64];
static uint64_t results[512];
static volatile sig_atomic_t handled;

__attribute__((noinline)) void work_fill(unsigned char *p, unsigned n, unsigned seed)
{
    for (unsigned i = 0; i < n; i++, seed = seed * 1103515245 + 12345)
        *(volatile unsigned char *)(p + i) = (unsigned char)(seed >> 16);
}

/* One instruction of 40000 references, in the middle of others. */
__attribute__((noinline)) void work_copy(void)
{
    void *from = source, *to = target + 1;
    size_t n = MUCH;
    __asm__ volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(n)::"memory");
}

__attribute__((noinline)) uint64_t work_sum(const unsigned char *p, unsigned n)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum = sum * 31 + p[i] + *(const volatile uint16_t *)(const void *)(p + i);
    return sum;
}

/* Nobody ever looks at the upper half. */
__attribute__((noinline)) void work_for_nothing(unsigned round)
{
    for (unsigned i = 256; i < 512; i++)
        *(volatile uint64_t *)&results[i] = round + i;
}

static void handler(int sig)
{
    handled += sig == SIGUSR1;
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1;
    char text[64];
    uint64_t sum = 0;
    signal(SIGUSR1, handler);
    for (int i = 0; i < times; i++) {
        work_fill(source, 1000, (unsigned)i);
        work_copy();
        sum += work_sum(target, 1000);
        work_for_nothing((unsigned)i);
        if (i % 16 == 0)
            raise(SIGUSR1);
    }
    int n = snprintf(text, sizeof text, "work %d %llx %d\n", times, (unsigned long long)sum,
                     (int)handled);
    FILE *f = argc > 2 ? fopen(argv[2], "w") : NULL;
    if (f) {
        fputs(text, f);
        fclose(f);
    }
    return write(1, text, (size_t)n) == n ? 0 : 1;
}
