/* SPDX-License-Identifier: MIT */
/* Walks that miss more than they need: of a few bytes of each record, and of two arrays that lie in the same sets, and what helps; and one
 * in steps of which a little more than half are the same. */
#include <sys/syscall.h>

enum { RECORDS = 1000, ELEMENTS = 4096, ROUNDS = 20 };

struct record {
    double hot;
#ifndef SPLIT
    char cold[56];
#endif
};
struct record records[RECORDS] __attribute__((aligned(4096)));

struct {
    double v[ELEMENTS];
} left __attribute__((aligned(4096)));
struct {
#ifdef GAP
    double gap[GAP];
#endif
    double v[ELEMENTS];
} right __attribute__((aligned(4096)));

double uneven[12000] __attribute__((aligned(4096)));
int steps[5] = {16, 16, 16, 2, 2}; /* elements */
double sum;

static __attribute__((noinline)) void sum_records(void)
{
    for (int i = 0; i < RECORDS; i++)
        sum += records[i].hot;
}

static __attribute__((noinline)) void sum_both(void)
{
    for (int i = 0; i < ELEMENTS; i++)
        sum += left.v[i] * right.v[i];
}

static __attribute__((noinline)) void sum_uneven(void)
{
    for (int i = 0, at = 0; i < 1000; at += steps[i++ % 5])
        sum += uneven[at];
}

__attribute__((force_align_arg_pointer)) void _start(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        sum_records();
        sum_both();
        sum_uneven();
    }
    __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(0L));
}
