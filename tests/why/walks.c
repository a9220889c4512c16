/* SPDX-License-Identifier: MIT */
/* Two walks that miss more than they need: of a few bytes of each record, and of two arrays that lie in the same sets; and what helps. */
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

__attribute__((force_align_arg_pointer)) void _start(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        sum_records();
        sum_both();
    }
    __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(0L));
}
