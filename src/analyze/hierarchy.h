/* SPDX-License-Identifier: MIT */
/* A simulated hierarchy of caches. What it does with a touch is said in docs/man/gait-cache.1; here is who does what:
 *
 *   cache.c       the lines of one cache
 *   levels.c      a line that is asked for, level by level; lines that are evicted; prefetches
 *   cascade.c     the same, quicker, where only misses pass between levels
 *   coherence.c   cores that have the same line
 *   sharing.c     which of their bytes
 *   why.c         what one of the caches is used for, and by whom
 *   hierarchy.c   cores, parts, and lists of touches
 *
 * It is simulated in parts, at the same time: no set of any cache is of two parts. */
#ifndef HIERARCHY_H
#define HIERARCHY_H

#include "analyze/cache.h"
#include "analyze/sharing.h"
#include "analyze/tally.h"
#include "analyze/touches.h"
#include "analyze/why.h"

#include <pthread.h>

struct cache_stats {
    u64 writebacks; /* lines that were dirty when they were evicted */
    u64 withdrawn;  /* copies above an inclusive cache that went with a line of its own */
    u64 prefetches, useful;
};

struct coherence_stats {
    u64 invalidations, upgrades, interventions;
};

/* What an instruction's references were: where it would be next (prefetch=stride). */
enum { STRIDES = 256, STRIDE_SURE = 2, STRIDE_LIMIT = 3 };
struct stride {
    u64 pc; /* with its owner; 0: none */
    u64 address;
    s64 step;
    u32 seen; /* how often this step came in a row */
};

/* What a core sees: its own caches and those of all. */
struct core {
    struct cache *cache[SHAPE_CACHES];
    struct stride *strides[SHAPE_CACHES]; /* NULL where there is no such prefetcher */
};

/* A touch, by its place in the list, and what it missed, levels as bits. */
struct told {
    u32 touch, missed;
};

struct hierarchy_part {
    struct touch_list first[TOUCH_SIDES], missed[2]; /* cascade.c's: what missed the first level, apart; one level, and the next */
    struct cache_stats stats[SHAPE_CACHES];
    struct coherence_stats coherence;
    struct sharing sharing;
    VEC(struct told) told; /* of the latest list */
} __attribute__((aligned(128)));

struct hierarchy {
    const struct shape *shape;
    struct slots slots;
    u32 private_levels;
    bool is_cascade;                /* touches are of lines */
    bool shares;                    /* bytes that cores share are looked at */
    struct why *why;                /* NULL: nobody asks; else there is one part */
    bool tells;                     /* what touches missed is not counted, but told; the same */
    pthread_mutex_t lock;           /* guards the making of cores */
    struct core *core[SHAPE_CORES]; /* atomic; NULL: not in use yet */
    u32 n_cores;                    /* in use are among the first of so many; atomic */
    struct core all;                /* the shared caches */
    struct hierarchy_part *part;
    u32 n_parts;
};

/* A touch on its way. */
struct visit {
    struct hierarchy *h;
    struct hierarchy_part *part;
    struct core *core;
    u32 core_number;
    struct tally *tally;
    const struct touch *list; /* that it is of */
    u32 id; /* of the instruction or reference */
    enum side side;
    u32 flags; /* TOUCH_WRITE, TOUCH_STORE */
    u64 address, size; /* the bytes that it touches in the line */
    u64 bytes;   /* and which bytes, as sharing.h has them */
    u64 shared;  /* LINE_SHARED if the line will be that */
    u32 missed; /* bits of levels */
};

void hierarchy_init(struct hierarchy *h, const struct shape *s, u32 parts, bool shares,
                    struct why *why, bool tells);
void hierarchy_fini(struct hierarchy *h);
/* What touches of a side it wants. */
struct touch_rule hierarchy_rule(const struct hierarchy *h, enum side side);
/* Let there be this core, before any of its touches is taken. */
void hierarchy_add_core(struct hierarchy *h, u32 core);
/* Let the part of the hierarchy see these touches of a core, one after the other. Alone: the memory was not touched by another core so far. */
void hierarchy_take(struct hierarchy *h, u32 part, u32 core, bool is_alone, struct tally *t, struct touches *list);
/* The sums of all parts. */
struct cache_stats hierarchy_stats(const struct hierarchy *h, u32 cache);
struct coherence_stats hierarchy_coherence(const struct hierarchy *h);

/* What a touch has missed, levels as bits, is known. */
void hierarchy_count(struct tally *t, const struct touch *x, struct crossing *crossings,
                     u32 missed);
/* Whether cascade_take() will do for memories that one core touches; touches are of lines. */
bool cascade_suits(const struct shape *s);
void cascade_take(struct hierarchy *h, struct hierarchy_part *part, struct core *core,
                  struct tally *t, const struct touch_list *const touches[TOUCH_SIDES], struct crossing *crossings);
/* A line of the first level is touched. */
void levels_visit(struct visit *v, u64 number);
/* An evicted line comes to a level: LINE_DIRTY and LINE_SHARED are its state. */
void levels_give(struct visit *v, enum side side, u32 level, u64 line);
/* The core is about to read or write a line: what the other cores have of it changes. Whether it will be shared: LINE_SHARED or 0. */
u64 coherence_agree(struct visit *v, u64 line, bool writes, bool is_prefetch);

#endif
