/* SPDX-License-Identifier: MIT */
/* What the kernels share: the size they are asked for, memory, the random numbers of NAS, and the verdict.
 *
 * A kernel prints one line, the same in every run, and no times: whoever measures it has a clock of
 * their own. It ends with 0 if its result was checked and right, 1 if wrong, 2 if asked for
 * something it does not have. */
#ifndef KERNEL_H
#define KERNEL_H
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *kernel_name;
static const char *kernel_size = "S";
static const char *kernel_choices = "S, W or A";

/* -- Asking and answering -------------------------------------------------------------------- */

/* End a program that was asked for something it does not have. */
static inline _Noreturn void kernel_refuse(void)
{
    fprintf(stderr, "%s: the size must be %s\n", kernel_name, kernel_choices);
    exit(2);
}

/* Say which size is wanted: 0 for S (the default), 1 for W, 2 for A; else refuse. */
static inline int kernel_begin(const char *name, int argc, char **argv)
{
    static const char *const sizes[] = {"S", "W", "A"};
    kernel_name = name;
    if (argc == 2)
        kernel_size = argv[1];
    for (int i = 0; i < 3 && argc <= 2; i++)
        if (strcmp(kernel_size, sizes[i]) == 0)
            return i;
    kernel_refuse();
}

/* What must hold for the result to be right; if it does not, say what is wrong and end. */
__attribute__((format(printf, 2, 3))) static inline void kernel_expect(bool holds,
                                                                       const char *wrong, ...)
{
    va_list args;
    if (holds)
        return;
    fprintf(stderr, "%s %s: ", kernel_name, kernel_size);
    va_start(args, wrong);
    vfprintf(stderr, wrong, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

/* Print the line of a result that passed all checks; returns the status for main. */
__attribute__((format(printf, 1, 2))) static inline int kernel_verified(const char *result, ...)
{
    va_list args;
    printf("%s %s ", kernel_name, kernel_size);
    va_start(args, result);
    vprintf(result, args);
    va_end(args);
    puts(" verified");
    kernel_expect(fflush(stdout) == 0 && !ferror(stdout), "cannot write the result");
    return 0;
}

/* Zeroed memory, on a cache line of its own. */
static inline void *kernel_alloc(size_t count, size_t size)
{
    size_t bytes = (count * size + 63) & ~(size_t)63;
    void *memory = aligned_alloc(64, bytes);
    kernel_expect(memory != NULL, "no memory for %zu bytes", bytes);
    return memset(memory, 0, bytes);
}

/* -- The random numbers of NAS --------------------------------------------------------------- */

/* x' = 5^13 x mod 2^46. The product may wrap at 2^64: only its low 46 bits count. */
#define NAS_FACTOR UINT64_C(1220703125)
#define NAS_MASK   ((UINT64_C(1) << 46) - 1)
#define NAS_SEED   UINT64_C(314159265)

/* The next number of a sequence, in (0, 1). */
static inline double nas_next(uint64_t *x)
{
    *x = *x * NAS_FACTOR & NAS_MASK;
    return (double)(int64_t)*x * 0x1p-46;
}

/* The next number of a sequence as one of 0 .. n-1. */
static inline int64_t nas_below(uint64_t *x, int64_t n)
{
    return (int64_t)(nas_next(x) * (double)n);
}

/* Where a sequence is after so many numbers: 5^(13 steps) x. */
static inline uint64_t nas_skip(uint64_t x, uint64_t steps)
{
    for (uint64_t power = NAS_FACTOR; steps; steps >>= 1, power = power * power & NAS_MASK)
        if (steps & 1)
            x = x * power & NAS_MASK;
    return x;
}

/* -- Numbers --------------------------------------------------------------------------------- */

/* Is a within this fraction of b? Never, if it is not a number. */
static inline bool is_near(double a, double b, double fraction)
{
    return fabs(a - b) <= fraction * fabs(b);
}

#endif
