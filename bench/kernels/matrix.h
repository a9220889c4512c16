/* SPDX-License-Identifier: MIT */
/* What the two matrix multiplies share: all but the loops that multiply.
 *
 * The elements are small whole numbers, so every sum is exact and the check asks for equality. */
#ifndef MATRIX_H
#define MATRIX_H
#include "kernel.h"

enum { MATRIX_MAX = 20000, ELEMENT_MAX = 8, PROBE_MAX = 1 << 20 };

/* How wide: one of three, or the N of "-n N". */
static inline int matrix_width(const char *name, int argc, char **argv, const int widths[3])
{
    static char size[16];
    kernel_choices = "S, W or A, or -n N with N from 1 to 20000";
    if (argc != 3 || strcmp(argv[1], "-n") != 0)
        return widths[kernel_begin(name, argc, argv)];
    char *end;
    long n = strtol(argv[2], &end, 10);
    kernel_name = name;
    if (end == argv[2] || *end != '\0' || n < 1 || n > MATRIX_MAX)
        kernel_refuse();
    snprintf(size, sizeof size, "n=%ld", n);
    kernel_size = size;
    return (int)n;
}

static inline double *matrix_random(int n, uint64_t *seed)
{
    double *m = kernel_alloc((size_t)n * n, sizeof *m);
    for (size_t i = 0; i < (size_t)n * n; i++)
        m[i] = (double)(nas_below(seed, 2 * ELEMENT_MAX + 1) - ELEMENT_MAX);
    return m;
}

/* y = M x in whole numbers. The largest sum, N^2 8^2 2^20, is below 2^63. */
static inline void matrix_apply(int n, const double *m, const int64_t *x, int64_t *y)
{
    for (int i = 0; i < n; i++) {
        y[i] = 0;
        for (int j = 0; j < n; j++)
            y[i] += (int64_t)m[(size_t)i * n + j] * x[j];
    }
}

/* Freivalds: if C is not A B, a random x has C x = A (B x) once in a million times. */
static inline void matrix_check(int n, const double *a, const double *b, const double *c)
{
    uint64_t seed = NAS_SEED + 2;
    int64_t *v = kernel_alloc((size_t)n * 4, sizeof *v);
    int64_t *x = v, *bx = v + n, *abx = v + 2 * n, *cx = v + 3 * n;
    for (int probe = 0; probe < 2; probe++) {
        for (int i = 0; i < n; i++)
            x[i] = nas_below(&seed, PROBE_MAX);
        matrix_apply(n, b, x, bx);
        matrix_apply(n, a, bx, abx);
        matrix_apply(n, c, x, cx);
        for (int i = 0; i < n; i++)
            kernel_expect(cx[i] == abx[i], "row %d of the product is wrong", i);
    }
    free(v);
}

/* Make two matrices, multiply them (the product is zero before), check the product. */
static inline int matrix_run(int n, void (*multiply)(int n, const double *restrict a,
                                                     const double *restrict b, double *restrict c))
{
    uint64_t seed = NAS_SEED;
    double *a = matrix_random(n, &seed), *b = matrix_random(n, &seed);
    double *c = kernel_alloc((size_t)n * n, sizeof *c);
    double trace = 0;
    multiply(n, a, b, c);
    matrix_check(n, a, b, c);
    for (int i = 0; i < n; i++)
        trace += c[(size_t)i * n + i];
    return kernel_verified("n=%d trace=%.0f", n, trace);
}

#endif
