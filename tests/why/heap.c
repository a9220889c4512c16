/* SPDX-License-Identifier: MIT */
/* c = a * b, the plain way, with matrices that are told apart by where they were allocated; a block that is given out again; and locals of calls at different
 * depths. It tells where they are, and from when to when. */
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

/* One instruction comes to either of two arrays; called from a little deeper, the second is where the first was. */
static __attribute__((noinline)) void fill(int which)
{
    char x[64], y[64];
    tell(x, sizeof x, -1);
    tell(y, sizeof y, -2);
    char *volatile chosen = which ? x : y;
    volatile char *at = chosen;
    for (int i = 0; i < 64; i++)
        at[i]++;
    tell(x, 0, 0);
    tell(y, 0, 0);
}

static __attribute__((noinline)) void fill_deeper(int which)
{
    volatile char room[40];
    room[0] = 0;
    fill(which);
    room[0]++;
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        fill(i);
        fill_deeper(!i);
    }
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
