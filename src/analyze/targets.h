/* SPDX-License-Identifier: MIT */
/* Simulated predictors of where branches go that do not say so themselves: a table of last targets, and a stack of returns. */
#ifndef TARGETS_H
#define TARGETS_H

#include "analyze/routes.h"

/* Where an indirect branch went the last time. */
struct last_target {
    u64 target;
    u32 at; /* of the branch */
    bool used;
};

/* `size` is a power of two. */
struct last_targets {
    struct last_target *v;
    u32 size;
};

/* The latest return addresses; the oldest gives way. */
struct return_stack {
    u64 *v;
    u32 size, n, top; /* top: where the next one goes */
};

/* Branches of one number. */
struct hop_counts {
    u64 executed, missed;
};

struct hop_tally {
    VEC(struct hop_counts) count;
};

void last_targets_init(struct last_targets *t, u32 size);
void return_stack_init(struct return_stack *s, u32 size);
/* One branch or call of a thread, whose target is known. */
void hop_run(struct last_targets *t, struct return_stack *s, const struct hop *h,
             struct hop_tally *tally);

#endif
