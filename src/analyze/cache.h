/* SPDX-License-Identifier: MIT */
/* One cache: sets of lines, and which of them is given up for another.
 *
 * A line is a word: its number, above that whose it is, so that lines of different memories are different, and above that its state.
 *
 *      63      62       61           60 .. 59   58     57 .. 44   43 .. 0
 *      dirty   shared   prefetched   age        huge   owner      number
 *
 * Pages of TLBs are lines too, of which huge ones are numbered apart. An owner is never 0, so no line is taken for an empty place.
 * A line that is found again at once is found as it was, whatever the policy. */
#ifndef CACHE_H
#define CACHE_H

#include "analyze/shape.h"

#define LINE_DIRTY      (1ull << 63)
#define LINE_SHARED     (1ull << 62) /* other cores may have it */
#define LINE_PREFETCHED (1ull << 61) /* and was not asked for since */
#define LINE_AGE        (3ull << 59) /* of rrip */
#define LINE_STATE      (31ull << 59)
#define LINE_HUGE       (1ull << 58)
#define LINE_NUMBER     ((1ull << 44) - 1)

enum { CACHE_VECTOR_WAYS = 8 };

struct cache {
    u64 sets;
    u32 ways, stride; /* from a set to the next one, in lines */
    enum policy policy;
    bool has_vectors; /* the processor has */
    u32 vectors;      /* so many hold a set, which is ordered by use: 1, 2; else 0 */
    u64 *lines; /* of each set its ways; 0: empty. Of lru and fifo in order: the latest first, the empty ones last */
    u64 *trees; /* plru: of each set the bits of the inner nodes */
    u32 *seeds; /* random: of each set a generator's state */
};

/* Whose lines are a memory's; some ten thousand memories are told apart. */
static inline u64 cache_owner(u32 memory)
{
    return (u64)(memory % 16383 + 1) << 44;
}

void cache_init(struct cache *c, u64 sets, u32 ways, enum policy policy);
void cache_fini(struct cache *c);
/* Make use of a line, without its state: where it is; NULL if it is not there. */
u64 *cache_find(struct cache *c, u64 line);
/* The same, but nobody makes use of it. */
u64 *cache_peek(struct cache *c, u64 line);
/* Put a line in that is not there; which line had to go for it, or 0. */
u64 cache_put(struct cache *c, u64 line);
/* Take a line out; 0 if it is not there. */
u64 cache_remove(struct cache *c, u64 line);

static inline u64 cache_set_of(const struct cache *c, u64 line)
{
    u64 number = line & LINE_NUMBER;
    return c->sets & (c->sets - 1) ? number % c->sets : number & (c->sets - 1);
}

#endif
