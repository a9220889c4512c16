/* SPDX-License-Identifier: MIT */
/* Pins what differs from run to run, so that two runs of a program take the same path (LD_PRELOAD). */

/*
 * The judge and gait run the program one after the other, and their lists are compared line by
 * line. Whatever the program can learn about the moment of the run must be the same in both:
 *
 *   time, gettimeofday, clock_gettime   seeds (lua mixes time into its string hash), timestamps,
 *                                       and the vdso's retry loop, which runs once more when the
 *                                       kernel updates the clock under it
 *   getrandom, getentropy               hash seeds, names of temporary files
 *   getpid                              seeds (perl), names, lock files
 *
 * Clocks stand still: a program that waits for one by looking at it waits for ever. The C library's
 * own calls do not come through here; its random bytes (AT_RANDOM, malloc's tcache key) are only
 * stored and compared, and choose no path.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { NOW = 1700000000, PID = 4242, RANDOM_BYTE = 0x5a };

time_t time(time_t *t)
{
    if (t)
        *t = NOW;
    return NOW;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    (void)zone;
    if (tv)
        *tv = (struct timeval){.tv_sec = NOW};
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    (void)clock;
    *ts = (struct timespec){.tv_sec = NOW};
    return 0;
}

ssize_t getrandom(void *buffer, size_t length, unsigned flags)
{
    (void)flags;
    memset(buffer, RANDOM_BYTE, length);
    return length;
}

int getentropy(void *buffer, size_t length)
{
    memset(buffer, RANDOM_BYTE, length);
    return 0;
}

pid_t getpid(void)
{
    return PID;
}
