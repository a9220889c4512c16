/* SPDX-License-Identifier: MIT */
/* MATMUL: the product of two matrices by its definition; the inner loop walks down a column of b. */
#include "matrix.h"

static const int widths[] = {420, 850, 1300};

static void multiply(int n, const double *restrict a, const double *restrict b, double *restrict c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[(size_t)i * n + k] * b[(size_t)k * n + j];
            c[(size_t)i * n + j] = sum;
        }
}

int main(int argc, char **argv)
{
    return matrix_run(matrix_width("matmul", argc, argv, widths), multiply);
}
