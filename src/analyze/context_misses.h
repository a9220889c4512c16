/* SPDX-License-Identifier: MIT */
/* Misses of caches for the tree of calls: which of them were between which moves.
 *
 * Touches have the time that they were made at, in instructions of the stretch, and moves have how many instructions ran between them. All functions
 * take NULL where nobody asks for misses. */
#ifndef CONTEXT_MISSES_H
#define CONTEXT_MISSES_H

#include "analyze/hierarchy.h"
#include "analyze/makers.h"
#include "analyze/moves.h"

struct context_misses {
    bool wanted;
    struct shape_given given;
    struct shape shape;
    struct hierarchy hierarchy; /* in one part */
};

struct context_misses_memory {
    struct context_misses *misses;
    struct tally tally; /* counts nothing */
    struct makers makers;
};

struct context_misses_work {
    struct context_misses_memory *memory;
    struct maker *maker; /* while it is open */
    struct touches touches;
    u32 core;
};

void context_misses_init(struct context_misses *m);
/* One of its options: 1 if it is another one, -1 with a sentence, or the rest of one. */
int context_misses_set(struct context_misses *m, const char *option, const char *value, struct err *e);
int context_misses_begin(struct context_misses *m, struct err *e);
void context_misses_fini(struct context_misses *m);

/* What struct analysis has of the same names. */
struct context_misses_memory *context_misses_memory(struct context_misses *m, u32 number, const struct unit_table *t);
void context_misses_end(struct context_misses_memory *x);
struct context_misses_work *context_misses_work(struct context_misses_memory *x);
void context_misses_open(struct context_misses_work *w, u32 thread);
void context_misses_add(struct context_misses_work *w, const struct events *e);
void context_misses_close(struct context_misses_work *w);
/* Put the misses of the stretch into its moves. */
void context_misses_take(struct context_misses_work *w, struct moves *moves);
void context_misses_merge(struct context_misses_work *w);

#endif
