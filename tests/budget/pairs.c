/* SPDX-License-Identifier: MIT */
/* Two system calls close together, then none for a millisecond, again and again. */
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int main(void)
{
    for (int i = 0; i < 1000; i++) {
        getppid();
        getppid();
        for (long end = now() + 1000; now() < end;)
            sink++;
    }
    return 0;
}
