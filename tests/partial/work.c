// SPDX-License-Identifier: MIT
// Two functions take turns, every half millisecond for as many milliseconds as asked for, or ten times.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static unsigned table[256];

__attribute__((noinline)) static void first(unsigned i)
{
    for (unsigned k = 0; k < 200; k++)
        table[(i + k * 7) % 256] += k;
}

__attribute__((noinline)) static void second(unsigned i)
{
    for (unsigned k = 0; k < 100; k++)
        table[(i ^ k) % 256] ^= table[(k * i) % 256];
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    double end = argc > 1 ? now() + atof(argv[1]) : 0;
    char text[64];
    for (unsigned i = 0; end != 0 ? now() < end : i < 10; i++) {
        first(i);
        second(i);
        if (end != 0)
            nanosleep(&(struct timespec){0, 500000}, NULL);
    }
    snprintf(text, sizeof text, "%zu", strlen(argv[0]));
    puts(text);
    return 0;
}
