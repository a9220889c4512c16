/* SPDX-License-Identifier: MIT */
/* c = a * b, the plain way, with matrices that are told apart by where they were allocated; and a block that is given out again. It tells where its blocks
 * are, and from when to when. */
#include <stdio.h>
#include <stdlib.h>

enum { N = 16, BLOCKS = 64 };

static struct {
    void *start;
    unsigned long size; /* 0: it is gone */
    int line;
} told[BLOCKS];
static volatile int now; /* so many were told of */

static void tell(void *start, unsigned long size, int line)
{
    told[now].start = start;
    told[now].size = size;
    told[now].line = line;
    __asm__ volatile("" : : : "memory");
    now++;
}

static __attribute__((noinline)) void multiply(double *a, double **b, double *c)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                c[i * N + j] += a[i * N + k] * b[k][j];
}

static __attribute__((noinline)) void sum(volatile double *block)
{
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 4 * N * N; i++)
            block[i] += i;
}

int main(void)
{
    double *a = malloc(N * N * sizeof *a); tell(a, N * N * sizeof *a, __LINE__);
    double *c = malloc(N * N * sizeof *c); tell(c, N * N * sizeof *c, __LINE__);
    double **b = malloc(N * sizeof *b); tell(b, N * sizeof *b, __LINE__);
    for (int i = 0; i < N; i++) {
        b[i] = malloc(N * sizeof *b[i]); tell(b[i], N * sizeof *b[i], __LINE__);
    }
    for (int i = 0; i < N * N; i++)
        a[i] = c[i] = b[i / N][i % N] = i;
    multiply(a, b, c);
    void *first = malloc(4 * N * N * sizeof(double)); tell(first, 4 * N * N * sizeof(double), __LINE__);
    sum(first);
    tell(first, 0, 0);
    free(first);
    void *second = malloc(4 * N * N * sizeof(double)); tell(second, 4 * N * N * sizeof(double), __LINE__);
    sum(second);
    printf("%p %d\n", (void *)&now, first == second);
    for (int i = 0; i < now; i++)
        printf("%p %lu %d\n", told[i].start, told[i].size, told[i].line);
    return 0;
}
