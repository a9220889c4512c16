/* SPDX-License-Identifier: MIT */
/* A simulated hierarchy of caches: one for code and one for data, and behind both a last level.
 *
 * Each keeps the lines that were used latest (LRU), writes allocate, and what misses in the first level goes to the last. A
 * reference that lies in two lines touches both, and is one miss if either misses; then both are looked for in the last level. */
#ifndef CACHE_H
#define CACHE_H

#include "analyze/touches.h"
#include "base/err.h"

struct cache_shape {
    u64 size;
    u32 ways, line;
};

enum cache_level { CACHE_I1, CACHE_D1, CACHE_LL, CACHE_LEVELS };

/* Misses of one instruction or reference, in the first and in the last level. */
struct cache_misses {
    u64 first, last;
};

struct cache_level_state {
    u64 sets;
    u32 ways, log2;
    u64 *lines; /* of each set its ways, the latest first; 0: empty */
};

struct cache {
    struct cache_shape shape[CACHE_LEVELS];
    struct cache_level_state level[CACHE_LEVELS];
};

/* What one memory's code missed. */
struct cache_memory {
    u64 number; /* lines of different memories are different */
    VEC(struct cache_misses) insns, refs; /* by number in its unit table */
};

/* Say what is wrong with a shape, as the rest of a sentence; NULL if nothing is. */
const char *cache_shape_fault(const struct cache_shape *s);
void cache_init(struct cache *c, const struct cache_shape shape[CACHE_LEVELS]);
void cache_fini(struct cache *c);
/* Let them see these touches, one after the other. */
void cache_take(struct cache *c, struct cache_memory *m, const struct touch *v, size_t n);
void cache_memory_fini(struct cache_memory *m);

#endif
