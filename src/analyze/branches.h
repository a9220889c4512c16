/* SPDX-License-Identifier: MIT */
/* The analysis `branches`: what was asked for and found (branches.c), and how events come to that (foretold.c). */
#ifndef BRANCHES_H
#define BRANCHES_H

#include "analyze/predictor.h"
#include "analyze/spots.h"
#include "analyze/targets.h"

/* What is counted of each branch. */
enum { BRANCH_executed, BRANCH_taken, BRANCH_missed, BRANCH_COUNTS };

struct branches {
    struct predictor_shape shape;
    u32 targets, returns; /* entries of the table of last targets, and of the stack */
    bool shared;          /* threads have the tables in common */
    u32 parts, shares;    /* shares: how many parts conditional branches are divided among */
    struct predictor *predictors; /* of all threads, by share; if shared */
    struct last_targets last;
    struct spots spots;
    u64 insns;
    u64 sums[SUMS][BRANCH_COUNTS];
};

/* As in struct analysis. */
void *foretold_memory(void *branches, u32 number, const struct unit_table *t);
void foretold_end(void *memory);
void *foretold_work(void *memory);
void foretold_open(void *work, u32 thread);
void foretold_add(void *work, const struct events *e);
void foretold_take(void *memory, void *work, u32 part);
void foretold_merge(void *memory, void *work);

#endif
