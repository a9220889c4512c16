/* SPDX-License-Identifier: MIT */
/* A hierarchy of caches as it is described: which levels there are, and what each is like. docs/man/gait-cache.1 says what it means. */
#ifndef SHAPE_H
#define SHAPE_H

#include "base/err.h"
#include "base/vec.h"

enum { SHAPE_LEVELS = 4, SHAPE_CACHES = 2 * SHAPE_LEVELS, SHAPE_TLBS = 8, SHAPE_CORES = 64 };

enum policy { POLICY_lru, POLICY_plru, POLICY_fifo, POLICY_random, POLICY_rrip };
enum writing { WRITING_back, WRITING_through, WRITING_ignore };
enum inclusion { INCLUSION_neither, INCLUSION_inclusive, INCLUSION_exclusive };
enum prefetch { PREFETCH_none, PREFETCH_next, PREFETCH_stride };

/* The words that the descriptions use, by the values above. */
extern const char *const policy_words[5], *const writing_words[3], *const inclusion_words[3],
                                                                       *const prefetch_words[3];

/* What is asked of a cache: data or code. */
enum side { SIDE_data, SIDE_code, SIDES };

struct cache_shape {
    char name[8];
    u64 size; /* bytes */
    u32 ways, line;
    enum policy policy;
    enum writing writing;
    enum inclusion inclusion;
    enum prefetch prefetch;
    bool is_private; /* each core has one; else there is one for all */
    bool bypassed;   /* by stores that miss */
    u32 latency;     /* cycles until a line comes from here; 0: not described */
};

/* A TLB, of the pages of 4 KB, of those of 2 MB, or of both. */
struct tlb_shape {
    char name[8];
    u32 level; /* 0, 1 */
    bool takes[SIDES];
    bool small, huge;
    u32 entries, ways;
    enum policy policy;
    bool is_private;
};

/* Addresses whose pages have 2 MB. */
struct huge_range {
    u64 start, end;
};

struct shape {
    struct cache_shape cache[SHAPE_CACHES];
    u32 n_caches, n_levels;
    u32 path[SIDES][SHAPE_LEVELS]; /* the cache of each level */
    struct tlb_shape tlb[SHAPE_TLBS];
    u32 n_tlbs, n_tlb_levels;
    struct huge_range huge[8];
    u32 n_huge;
    u32 cores;
    u32 memory;      /* cycles until a line comes from there; 0: not described */
    double ipc;      /* instructions in a cycle where nothing misses; 0: not described */
};

u64 shape_sets(const struct cache_shape *s);
/* Say what is wrong with a cache, as the rest of a sentence; NULL if nothing is. */
const char *cache_shape_fault(const struct cache_shape *s);
const char *tlb_shape_fault(const struct tlb_shape *s);
/* Find the levels from the names of the caches, and check that they fit each other; -1 with a sentence. */
int shape_join(struct shape *s, struct err *e);
/* Levels up to the first that cores share. */
u32 shape_private_levels(const struct shape *s);
/* The longest line. */
u32 shape_block(const struct shape *s);
/* In how many parts, up to a limit, it can be simulated: a line of addresses of shape_block() bytes, and all that it meets in any
 * cache, is in the part of its number modulo the parts. */
u32 shape_parts(const struct shape *s, u32 limit);

/* How many cycles a line of data takes from a level, or behind the last one from memory; instructions in a cycle. What is not described is
 * as in common machines. */
u32 shape_latency(const struct shape *s, u32 level);
double shape_ipc(const struct shape *s);

/* What a user says of a hierarchy: it is in a file, or has two levels, used by all threads alike and as if nothing were ever written, as
 * valgrind's cachegrind takes them. Else it is the machine's own, as the kernel describes it; a common one if it does not. */
struct shape_given {
    struct shape all, two;
    bool is_file, is_two;
};
#define SHAPE_GIVEN_OPTIONS                                                                     \
    {"config", "FILE", "a description of the caches; else they are the machine's own"},         \
    {"I1", "SIZE,WAYS,LINE", "two levels, used by all threads alike: the first for code, in bytes"}, \
    {"D1", "SIZE,WAYS,LINE", "... for data"},                                                   \
    {"LL", "SIZE,WAYS,LINE", "the last level's"}

/* The first and the last level of a hierarchy, so: I1, D1, LL. */
void shape_of_two(struct shape *s, const struct shape *from);
void shape_given_init(struct shape_given *g);
/* One of its options; 1 if it is another one, -1 with a sentence, or the rest of one. */
int shape_given_set(struct shape_given *g, const char *option, const char *value, struct err *e);
/* All were set; -1 with a sentence. */
int shape_given_choose(const struct shape_given *g, struct shape *s, struct err *e);

#endif
