/* SPDX-License-Identifier: MIT */
/* The kernels of METRIC's paper: figure 3, the matrix product and the tiled one, and the walk round an array again and again.
 *
 *     products N TILE */
#include <stdint.h>
#include <stdlib.h>

static volatile uint32_t *a3, *b3;
static volatile double *a, *b, *c;

#define KERNEL __attribute__((noinline, noclone)) static void

KERNEL figure3(int n)
{
    for (int i = 0; i <= n - 2; i++)
        for (int k = 0; k <= n - 2; k++) {
            uint32_t sum = a3[i];
            sum += b3[(i + 1) * n + k + 1];
            a3[i] = sum;
        }
}

KERNEL product(int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                c[i * n + j] = c[i * n + j] + a[i * n + k] * b[k * n + j];
}

KERNEL tiled(int n, int tile)
{
    for (int kk = 0; kk < n; kk += tile)
        for (int jj = 0; jj < n; jj += tile)
            for (int i = 0; i < n; i++)
                for (int k = kk; k < kk + tile; k++)
                    for (int j = jj; j < jj + tile; j++)
                        c[i * n + j] = c[i * n + j] + a[i * n + k] * b[k * n + j];
}

KERNEL modulo(int n)
{
    for (int i = 0, at = 0; i < n * n; i++, at = at + 1 == n ? 0 : at + 1)
        (void)a[at];
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 12, tile = argc > 2 ? atoi(argv[2]) : 4;
    size_t all = (size_t)n * n;
    a3 = calloc(all, 4), b3 = calloc(all, 4);
    a = calloc(all, 8), b = calloc(all, 8), c = calloc(all, 8);
    figure3(n);
    product(n);
    tiled(n, tile);
    modulo(n);
    return 0;
}
