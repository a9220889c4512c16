/* SPDX-License-Identifier: MIT */
/* Which instructions miss the caches: a simulated hierarchy, fed by the events of a run or a trace.
 *
 *     m = misses_new(shape);
 *     for each memory: x = misses_begin(m, number, table);
 *         for each buffer or batch: t = misses_open(x); touches_add(t, ..); misses_take(x, t);
 *         misses_end(x);
 *     misses_sort(m);                       then misses.rows are by process and pc
 *
 * Touches can be made by several threads at once; those of a memory are taken in the order of the program. */
#ifndef MISSES_H
#define MISSES_H

#include "analyze/cache.h"

#include <pthread.h>

enum misses_count {
#define COUNT(name, letters, what) MISSES_##name,
#include "analyze/counts.def"
#undef COUNT
    MISSES_COUNTS,
};

struct misses_row {
    u32 process; /* whose memory the code is in */
    u64 pc;
    u64 count[MISSES_COUNTS];
};

struct misses {
    struct cache cache;
    pthread_mutex_t lock; /* guards all of it: memories take their turns */
    VEC(struct misses_row) rows;
    void *owner; /* whoever made it, for himself */
};

struct misses_memory {
    struct misses *misses;
    const struct unit_table *table;
    struct cache_memory missed;
    pthread_mutex_t lock; /* guards what follows */
    VEC(struct touches *) free, all;
};

struct misses *misses_new(const struct cache_shape shape[CACHE_LEVELS]);
void misses_free(struct misses *m);
struct misses_memory *misses_begin(struct misses *m, u32 number, const struct unit_table *t);
/* An empty list of touches; nothing is known of what came before. */
struct touches *misses_open(struct misses_memory *x);
/* Let the caches see it; it is closed then. */
void misses_take(struct misses_memory *x, struct touches *t);
void misses_end(struct misses_memory *x);
/* One row for each instruction that ran, in misses.rows. */
void misses_sort(struct misses *m);

#endif
