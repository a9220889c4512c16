/* SPDX-License-Identifier: MIT */
/* Marks on a line of time, and how many of them are later than a given one.
 *
 * Marks are set at the end, one time after the other, and removed anywhere. The times are bits; a block is a word of them. Of each block it
 * is kept how many marks are in the blocks before it in its group of 16; of each group, how many are in the groups before it in its group
 * of 16; and so on:
 *
 *     bits       [block][block] .. [block]   [block] ..
 *     before[0]     0      n    ..    n         0    ..      a group is a line of 16 numbers
 *     before[1]     0                           n    ..      one number for each group below
 *
 * So a mark at the end costs a bit, a count one number of each level, and a removal a vector of each. The numbers of blocks that time
 * has not reached yet mean nothing.
 *
 * What is here is inlined, so that it is compiled for the processor that its caller is compiled for. */
#ifndef MARKS_H
#define MARKS_H

#include "base/base.h"

enum { MARKS_BLOCK = 64, MARKS_GROUP = 16, MARKS_LEVELS = 8 };

#define MARKS_LIMIT (1ull << 31) /* of times */

typedef s32 marks_group __attribute__((vector_size(64)));
typedef s32 marks_window __attribute__((vector_size(64), aligned(4)));

struct marks {
    u32 now;      /* the next time */
    u32 capacity; /* a multiple of a block; times are below that */
    u32 n;        /* marks there are */
    u32 levels;
    u64 *bits;
    marks_group *before[MARKS_LEVELS];
    void *memory; /* of all */
};

#define MARKS_INLINE static inline __attribute__((always_inline))
/* Functions compiled for processors of the last ten years; whoever calls them asks marks_are_fast. */
#define MARKS_FAST __attribute__((target("popcnt,bmi,bmi2,lzcnt,avx2")))

static inline bool marks_are_fast(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("popcnt");
}

/* For so many times or a few more. Nothing is marked. */
void marks_init(struct marks *m, u64 capacity);
void marks_fini(struct marks *m);
/* The first n times are marked, and no others. */
void marks_reset(struct marks *m, u32 n);

MARKS_INLINE s32 *marks_number(const struct marks *m, u32 level, u32 i)
{
    return (s32 *)m->before[level] + i;
}

/* Time has come to this block: count what is before it. */
MARKS_INLINE void marks_enter(struct marks *m, u32 block)
{
    u32 i = block, n = block ? (u32)__builtin_popcountll(m->bits[block - 1]) : 0;
    for (u32 level = 0; level < m->levels; level++) {
        n = i ? n + (u32)*marks_number(m, level, i - 1) : 0;
        *marks_number(m, level, i) = i % MARKS_GROUP ? (s32)n : 0;
        if (i % MARKS_GROUP)
            return;
        i /= MARKS_GROUP;
    }
}

/* Mark the next time; there must be one. */
MARKS_INLINE u32 marks_push(struct marks *m)
{
    u32 t = m->now++;
    if (t % MARKS_BLOCK == 0)
        marks_enter(m, t / MARKS_BLOCK);
    m->bits[t / MARKS_BLOCK] |= 1ull << (t % MARKS_BLOCK);
    m->n++;
    return t;
}

/* Mark the next n times. */
MARKS_INLINE void marks_push_many(struct marks *m, u32 n)
{
    while (n) {
        u32 t = m->now, k = MIN(n, MARKS_BLOCK - t % MARKS_BLOCK);
        if (t % MARKS_BLOCK == 0)
            marks_enter(m, t / MARKS_BLOCK);
        m->bits[t / MARKS_BLOCK] |= ~0ull >> (MARKS_BLOCK - k) << (t % MARKS_BLOCK);
        m->now += k;
        m->n += k;
        n -= k;
    }
}

MARKS_INLINE u32 marks_in_word_before(const struct marks *m, u32 t)
{
    return (u32)__builtin_popcountll(m->bits[t / MARKS_BLOCK] & ((1ull << (t % MARKS_BLOCK)) - 1));
}

/* Marks before t, which is below the next time. */
MARKS_INLINE u32 marks_before(const struct marks *m, u32 t)
{
    u32 n = marks_in_word_before(m, t);
    for (u32 level = 0, i = t / MARKS_BLOCK; level < m->levels; level++, i /= MARKS_GROUP)
        n += (u32)*marks_number(m, level, i);
    return n;
}

/* Remove the mark at t; how many are later? */
MARKS_INLINE u32 marks_remove(struct marks *m, u32 t)
{
    static const s32 less[2 * MARKS_GROUP] = {[MARKS_GROUP] = -1, -1, -1, -1, -1, -1, -1, -1,
                                              -1,                 -1, -1, -1, -1, -1, -1, -1};
    u32 n = marks_in_word_before(m, t);
    m->bits[t / MARKS_BLOCK] &= ~(1ull << (t % MARKS_BLOCK));
    for (u32 level = 0, i = t / MARKS_BLOCK; level < m->levels; level++, i /= MARKS_GROUP) {
        n += (u32)*marks_number(m, level, i);
        m->before[level][i / MARKS_GROUP] +=
            *(const marks_window *)(less + MARKS_GROUP - 1 - i % MARKS_GROUP);
    }
    return --m->n - n;
}

#endif
