/* SPDX-License-Identifier: MIT */
/* c = a * b, the plain way: rows of a, columns of b; or with longer rows, in tiles, with another order of loops. Without a library, so that
 * nothing else misses much. */
#include <sys/syscall.h>

#ifndef N
#define N 48
#endif
#ifndef PAD
#define PAD 0 /* elements behind each row */
#endif
#ifndef TILE
#define TILE N
#endif
#define MIN(x, y) ((x) < (y) ? (x) : (y))

static double a[N][N + PAD] __attribute__((aligned(4096)));
static double b[N][N + PAD] __attribute__((aligned(4096)));
static double c[N][N + PAD] __attribute__((aligned(4096)));

static __attribute__((noinline)) void fill(void)
{
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            a[i][k] = i + k;
            b[i][k] = i - k;
        }
}

static __attribute__((noinline)) void multiply(void)
{
#ifdef INTERCHANGED
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                c[i][j] += a[i][k] * b[k][j];
#else
    for (int jj = 0; jj < N; jj += TILE)
        for (int kk = 0; kk < N; kk += TILE)
            for (int i = 0; i < N; i++)
                for (int j = jj; j < MIN(jj + TILE, N); j++)
                    for (int k = kk; k < MIN(kk + TILE, N); k++)
                        c[i][j] += a[i][k] * b[k][j];
#endif
}

__attribute__((force_align_arg_pointer)) void _start(void)
{
    fill();
    multiply();
    __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(0L));
}
