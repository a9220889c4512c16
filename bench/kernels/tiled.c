/* SPDX-License-Identifier: MIT */
/* TILED: the product of two matrices tile by tile; three tiles fit into a first-level cache. */
#include "matrix.h"

enum { TILE = 32 };
static const int widths[] = {500, 1050, 1850};

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Add one tile's worth of products; the tiles at the edges may be narrow. */
static void multiply_tile(int n, const double *restrict a, const double *restrict b,
                          double *restrict c, int i0, int j0, int k0)
{
    int i1 = smaller(i0 + TILE, n), j1 = smaller(j0 + TILE, n), k1 = smaller(k0 + TILE, n);
    for (int i = i0; i < i1; i++)
        for (int k = k0; k < k1; k++) {
            double factor = a[(size_t)i * n + k];
            for (int j = j0; j < j1; j++)
                c[(size_t)i * n + j] += factor * b[(size_t)k * n + j];
        }
}

static void multiply(int n, const double *restrict a, const double *restrict b, double *restrict c)
{
    for (int i = 0; i < n; i += TILE)
        for (int j = 0; j < n; j += TILE)
            for (int k = 0; k < n; k += TILE)
                multiply_tile(n, a, b, c, i, j, k);
}

int main(int argc, char **argv)
{
    return matrix_run(matrix_width("tiled", argc, argv, widths), multiply);
}
