/* SPDX-License-Identifier: MIT */
/* Marks on the line of time of a span: as in marks.h, but so few that one level is enough, of which a removal mostly changes the last
 * vector or two. */
#ifndef SPAN_MARKS_H
#define SPAN_MARKS_H

#include "analyze/marks.h"

enum { SPAN_TIMES = 8192, SPAN_WORDS = SPAN_TIMES / 64, SPAN_LANES = 16 };

typedef u16 span_lanes __attribute__((vector_size(2 * SPAN_LANES)));
typedef u16 span_window __attribute__((vector_size(2 * SPAN_LANES), aligned(2)));

struct span_marks {
    u64 bits[SPAN_WORDS];
    _Alignas(64) span_lanes before[SPAN_WORDS / SPAN_LANES + 1]; /* of each word up to that of now, how many marks */
};

struct span_time {
    u32 now, n; /* the next time, and how many are marked */
};

/* Mark the next time; there must be one. */
MARKS_INLINE u32 span_push(struct span_marks *m, struct span_time *time)
{
    u32 t = time->now++;
    if (t % 64 == 0)
        ((u16 *)m->before)[t / 64] = (u16)time->n;
    m->bits[t / 64] |= 1ull << (t % 64);
    time->n++;
    return t;
}

/* Marks before t. */
MARKS_INLINE u32 span_before(const struct span_marks *m, u32 t)
{
    return ((const u16 *)m->before)[t / 64] +
           (u32)__builtin_popcountll(m->bits[t / 64] & ((1ull << (t % 64)) - 1));
}

/* Remove the mark at t; how many are later? */
MARKS_INLINE u32 span_remove(struct span_marks *m, struct span_time *time, u32 t)
{
    static const u16 less[2 * SPAN_LANES] = {
        [SPAN_LANES] = -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    u32 later = --time->n - span_before(m, t), word = t / 64;
    m->bits[word] &= ~(1ull << (t % 64));
    m->before[word / SPAN_LANES] += *(const span_window *)(less + SPAN_LANES - 1 - word % SPAN_LANES);
    /* Mostly there is no other, or one: that is changed in any case, since it is set when it is reached. */
    m->before[word / SPAN_LANES + 1] += *(const span_window *)(less + SPAN_LANES);
    for (u32 i = word / SPAN_LANES + 2; i <= time->now / 64 / SPAN_LANES; i++)
        m->before[i] += *(const span_window *)(less + SPAN_LANES);
    return later;
}

#endif
