/* SPDX-License-Identifier: MIT */
/* From a stream of addresses to its descriptors while it goes on, in memory that does not grow with it.
 *
 * The detector is that of METRIC's paper on partial data traces, at every level alike. At the lowest, its items are references; three of
 * them at even distances begin an RSD, which then takes each further one as it comes. At the next, items are the RSDs that have ended:
 * three that are alike begin a PRSD, and so on. An item that nobody expects waits in the level's pool, until two others go with it, or
 * it is pushed out of the pool by later ones: then it is done, and stays what it is.
 *
 *     level 1    runs of RSDs    <- what has ended below
 *                pool
 *     level 0    runs of references, each expecting one address at one place: the stream table
 *                pool: references that nobody expected
 *
 * Distances are even in the addresses and in the places in the stream: so what is found expands to the same stream again, and a run
 * whose place has passed has ended. */
#ifndef DETECTOR_H
#define DETECTOR_H

#include "analyze/descriptors.h"
#include "base/pool.h"

struct detector_rules {
    u32 window; /* items in a pool, and runs in a table */
    u32 depth;  /* PRSDs around an RSD at most; less than DESCRIPTOR_DEPTH */
    /* Only the addresses need be at even distances, as in the paper's figures: the order of references is lost. A run has ended when
     * it was not gone on with for a while. */
    bool unordered;
    /* A descriptor is done. */
    void (*done)(void *to, const struct descriptor *d);
    /* So are n IADs of type and source 0, one behind the other from a place on; their addresses are `every` apart in an array. */
    void (*done_ones)(void *to, u64 place, const u64 *address, size_t n, size_t every);
};

struct detector_run {
    u64 next, next_place; /* of the item that it expects */
    u64 limit;            /* the run that it will be an item of has items of this length */
    u64 late;             /* how long after its first reference an item has ended */
    struct descriptor d;
};

enum { DETECTOR_FEW = 8 };

/* Items have keys. Those of three items at even distances are at even distances too: so a search for such items looks at all keys at once first. */
struct detector_level {
    u32 keys[DETECTOR_FEW]; /* of the last items in the pool, the last one's last; whatever it may be of those that are not there */
    u32 pool_first, n_pool,
        pool_room; /* where the pool begins in its array, which has room for more */
    u32 n_runs, runs_room;
    bool changed; /* since it was last looked for runs that have ended */
    u8 *pool;     /* descriptors as deep as the level, by place */
    u8 *runs;     /* struct detector_run, one deeper; as they were begun */
};

struct detector {
    const struct detector_rules *rules;
    struct pool *pool; /* of all its memory */
    void *to;
    u64 place;        /* of the next reference */
    u32 place_weight; /* in a key */
    u32 n_levels;
    bool few;         /* may be in a pool, so that all of them have keys */
    struct detector_level *levels;
};

void detector_init(struct detector *x, const struct detector_rules *rules, struct pool *pool,
                   void *to);
/* The next reference of the stream. */
void detector_put(struct detector *x, u64 address, u32 type, u32 source);
/* The next n, of type and source 0; their addresses are `every` apart in an array. */
void detector_put_all(struct detector *x, const u64 *address, size_t n, size_t every);
/* Fetch some of what it will need into the cache. Step by step, 1 and 2: each tells where the next is. */
void detector_fetch(const struct detector *x, u32 step);
/* There are no more: all that is open is done. */
void detector_end(struct detector *x);
/* What it takes. */
size_t detector_memory(const struct detector *x);

#endif
