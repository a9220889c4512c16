/* SPDX-License-Identifier: MIT */
/* Hot paths: the grammar of all that a thread executed, and the rules that cover most of it (whole program paths, Larus
 * 1999).
 *
 * The sequence is that of units' exits. The execution is cut into paths, from the start rule downwards, so that each
 * instruction counts in one path. A rule that only repeats another is so many runs of that one. A rule of more than
 * `longest` exits is cut into its symbols, and so is one of whose instructions more than half are in repetitions: that
 * is rather a loop around a path, and how often it goes round differs from time to time. What is not cut is a path. */
#ifndef HOTPATHS_H
#define HOTPATHS_H

#include "analyze/grammar.h"
#include "base/vec.h"
#include "decode/walk.h"

/* A terminal of the grammar: the first instructions of a unit, and the exit that was taken. */
struct path_unit {
    u32 memory; /* the process whose table has the unit */
    u32 unit, insns;
    u32 exit; /* the id; RECORD_partial if it was left in its middle; 0 between two threads */
};

struct path {
    u32 symbol;       /* of the grammar: a rule or a terminal */
    u64 units;        /* in one run */
    u64 instructions; /* in one run */
    u64 runs;
};

struct paths {
    struct grammar grammar;
    VEC(struct path_unit) units;
    VEC(struct path) v; /* those that cover most first */
    u64 *weights;       /* instructions in one run of each rule */
    u64 instructions;   /* in the whole sequence */
    u64 exits;          /* the same, in exits */
    bool limited;       /* there were more exits than the limit */
};

/* The thread that executed the most instructions; 0 if none did. */
int paths_busiest(struct trace *t, u32 *thread, struct err *e);
#define PATHS_ALL UINT32_MAX
/* Find the paths of a thread, or of all, one after the other (PATHS_ALL), in the first `limit` exits. */
int paths_find(struct paths *p, struct trace *t, u32 thread, u64 longest, u64 limit, struct err *e);
void paths_fini(struct paths *p);

/* Instructions in one run of a symbol. */
u64 paths_weight(const struct paths *p, u32 symbol);

#endif
