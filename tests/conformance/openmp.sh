#!/bin/sh
# SPDX-License-Identifier: MIT
# An OpenMP program with four threads: barriers that spin, reductions, tasks, critical sections, nested regions.
# small
# needs: gcc

cat >work.c <<'C'
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static long fib(int n)
{
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a) if (n > 12)
    a = fib(n - 1);
#pragma omp task shared(b) if (n > 12)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

#define N 160
static double A[N][N], B[N][N], C[N][N];
static unsigned counter;
#pragma omp threadprivate(counter)

int main(void)
{
    long sum = 0;
    double real = 0;
    omp_set_dynamic(0);
#pragma omp parallel
#pragma omp single
    printf("threads %d\n", omp_get_num_threads());

#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 7)
    for (int i = 0; i < 100000; i++)
        sum += i % 17 * (i & 3);
    printf("dynamic %ld\n", sum);
#pragma omp parallel for reduction(max : real) schedule(guided)
    for (int i = 0; i < 50000; i++)
        real = fmax(real, sin(i) * i);
    printf("guided %.6f\n", real);

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            A[i][j] = i + j, B[i][j] = i - j;
#pragma omp parallel for collapse(2) schedule(static)
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
#pragma omp simd reduction(+ : s)
            for (int k = 0; k < N; k++)
                s += A[i][k] * B[k][j];
            C[i][j] = s;
        }
    printf("matrix %.1f %.1f\n", C[3][5], C[N - 1][N - 2]);

    long f;
#pragma omp parallel
#pragma omp single
    f = fib(20);
    printf("tasks %ld\n", f);

    int inside = 0, most = 0, turns = 0, atomic = 0;
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 300; i++) {
#pragma omp critical
        {
            inside++;
            most = inside > most ? inside : most;
            turns++;
            inside--;
        }
#pragma omp atomic
        atomic += i;
#pragma omp barrier
    }
    printf("critical %d %d atomic %d\n", most, turns, atomic);

    int order[64], n = 0;
#pragma omp parallel for ordered schedule(dynamic)
    for (int i = 0; i < 64; i++) {
#pragma omp ordered
        order[n++] = i;
    }
    int sorted = 1;
    for (int i = 0; i < 64; i++)
        sorted &= order[i] == i;
    printf("ordered %d\n", sorted);

    omp_set_max_active_levels(2);
    int leaves = 0;
#pragma omp parallel num_threads(4) reduction(+ : leaves)
#pragma omp parallel num_threads(2) reduction(+ : leaves)
    leaves++;
    printf("nested %d\n", leaves);

    unsigned total = 0;
#pragma omp parallel num_threads(4)
    counter = omp_get_thread_num() + 1;
#pragma omp parallel num_threads(4) reduction(+ : total)
    total += counter;
    printf("threadprivate %u\n", total);

    omp_lock_t lock;
    omp_init_lock(&lock);
    int shared = 0, sections = 0;
#pragma omp parallel sections reduction(+ : sections)
    {
#pragma omp section
        for (int i = 0; i < 2000; i++, sections++) { omp_set_lock(&lock); shared++; omp_unset_lock(&lock); }
#pragma omp section
        for (int i = 0; i < 3000; i++, sections++) { omp_set_lock(&lock); shared++; omp_unset_lock(&lock); }
    }
    printf("locks %d %d\n", shared, sections);
    int deps = 1;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 20; i++) {
#pragma omp task depend(inout : deps)
        deps = deps * 3 % 1009;
    }
    printf("dependences %d\n", deps);
    return 0;
}
C
gcc -O2 -march=x86-64-v2 -fopenmp -o work work.c -lm || exit 1
OMP_NUM_THREADS=4 $GAIT ./work
echo "status $?"
OMP_NUM_THREADS=4 OMP_WAIT_POLICY=passive $GAIT ./work | cksum
OMP_NUM_THREADS=4 OMP_WAIT_POLICY=active OMP_PROC_BIND=true $GAIT ./work | cksum
OMP_NUM_THREADS=4 OMP_STACKSIZE=64k GOMP_SPINCOUNT=100 $GAIT ./work | cksum
