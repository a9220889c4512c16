/* SPDX-License-Identifier: MIT */
/* Which stretches of memory are allocated now. They do not overlap, unless a small one lies in a large one. */
#ifndef BLOCKS_H
#define BLOCKS_H

#include "base/vec.h"

struct block {
    u64 start, end;
    u32 id; /* the caller's */
    bool is_mapping;
};

struct block_list {
    VEC(struct block) v; /* ascending */
};

/* Small ones by the grain of addresses that they begin in, which is so long that they end in the next one at the latest. */
struct block_grain {
    u64 number; /* + 1; 0: free */
    struct block_list list;
};

struct blocks {
    struct block_grain *grains; /* a hash table */
    u64 n_grains, mask;
    struct block_list large;
};

/* Whatever overlaps it is forgotten: that it was freed has escaped us. */
void blocks_add(struct blocks *b, struct block x);
/* The one that begins here is gone. */
void blocks_remove(struct blocks *b, u64 start);
/* All mappings in a range are gone, and parts of mappings. */
void blocks_unmap(struct blocks *b, u64 start, u64 end);
/* NULL if there is none; until the next change. */
const struct block *blocks_find(struct blocks *b, u64 address);
void blocks_fini(struct blocks *b);

#endif
