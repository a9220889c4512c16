/* SPDX-License-Identifier: MIT */
/* Pins what differs from run to run, so that two runs take the same path (LD_PRELOAD). */

/*
 * The judge and gait run the program one after the other, and their lists are compared line by
 * line. Whatever the program can learn about the moment of the run must be the same in both:
 *
 *   time, gettimeofday, clock_gettime   seeds (lua mixes time into its string hash), timestamps,
 *                                       and the vdso's retry loop, which runs once more when the
 *                                       kernel updates the clock under it
 *   getrusage, clock, times             how long to think (gnugo)
 *   getrandom, getentropy               hash seeds, names of temporary files
 *   getpid                              seeds (perl), names, lock files
 *
 * Clocks stand still: a program that waits for one by looking at it waits for ever. The C library's
 * own calls do not come through here. Its random bytes (AT_RANDOM, malloc's tcache key) choose no
 * path, but strcmp with AVX-512 loads behind a string where the other one has bytes that are not
 * 0, behind its end, too: where a key was stored, it loads one byte less in 3 % of all runs. Who
 * runs programs with this library switches the tcache off (glibc.malloc.tcache_count=0).
 *
 * The tools that start the program have the same environment, hence this library. They are left
 * alone: gait must know its own pid and the time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

enum { NOW = 1700000000, PID = 4242, RANDOM_BYTE = 0x5a };

static bool is_tool;

__attribute__((constructor)) static void look_around(void)
{
    static const char *const tools[] = {"gait", "stepper"};

    for (unsigned i = 0; i < sizeof tools / sizeof *tools; i++)
        is_tool |= !strcmp(program_invocation_short_name, tools[i]);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    if (is_tool)
        return syscall(SYS_clock_gettime, clock, ts);
    *ts = (struct timespec){.tv_sec = NOW};
    return 0;
}

time_t time(time_t *t)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    if (t)
        *t = ts.tv_sec;
    return ts.tv_sec;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    struct timespec ts;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &ts);
    *tv = (struct timeval){.tv_sec = ts.tv_sec, .tv_usec = ts.tv_nsec / 1000};
    return 0;
}

int getrusage(enum __rusage_who who, struct rusage *usage)
{
    if (is_tool)
        return syscall(SYS_getrusage, who, usage);
    *usage = (struct rusage){0};
    return 0;
}

clock_t clock(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return ts.tv_sec * CLOCKS_PER_SEC + ts.tv_nsec / (1000000000 / CLOCKS_PER_SEC);
}

clock_t times(struct tms *buffer)
{
    if (is_tool)
        return syscall(SYS_times, buffer);
    *buffer = (struct tms){0};
    return 0;
}

ssize_t getrandom(void *buffer, size_t length, unsigned flags)
{
    if (is_tool)
        return syscall(SYS_getrandom, buffer, length, flags);
    memset(buffer, RANDOM_BYTE, length);
    return length;
}

int getentropy(void *buffer, size_t length)
{
    return getrandom(buffer, length, 0) == (ssize_t)length ? 0 : -1;
}

pid_t getpid(void)
{
    return is_tool ? syscall(SYS_getpid) : PID;
}
