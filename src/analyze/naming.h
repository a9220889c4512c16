/* SPDX-License-Identifier: MIT */
/* Which functions contexts are in.
 *
 * Functions are what symbols say. Code without one belongs to the last place before it in its module that was called, in any process, and
 * is named by its offset. */
#ifndef NAMING_H
#define NAMING_H

#include "analyze/contexts.h"
#include "analyze/sources.h"
#include "analyze/tree.h"

/* A place in a module, or an address outside of all. */
struct named_place {
    const char *module;
    u64 offset;
};

struct naming {
    struct tree *tree; /* whose functions they become */
    struct sources *sources;
    VEC(struct named_place) called; /* where calls led to; ascending once all are there */
    bool is_sorted;
    u32 memory;         /* of what follows: */
    VEC(u64) pcs;       /* ascending */
    VEC(u32) functions; /* as these */
};

void naming_init(struct naming *n, struct tree *t, struct sources *s);
/* Show it where calls led to in a memory: all of them, before it is asked for names. */
void naming_add(struct naming *n, u32 memory, const struct contexts *c);
/* Find the functions of a memory's contexts. */
void naming_begin(struct naming *n, u32 memory, const struct contexts *c);
/* ... of one of them, which is code: its number in the tree. */
u32 naming_function(const struct naming *n, u64 pc);
void naming_fini(struct naming *n);

#endif
