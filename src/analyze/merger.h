/* SPDX-License-Identifier: MIT */
/* One tree of calls of several traces, by names; and how much of the first one's tree the others have seen. */
#ifndef MERGER_H
#define MERGER_H

#include "analyze/result.h"
#include "analyze/tree.h"

/* A node of the merged tree. */
struct merged {
    bool is_in_first;
    u64 insns; /* of its own, in the first trace */
    u32 other; /* the number of the next trace that has it, the first being 0; 0: none */
};

struct merger {
    struct tree tree;
    VEC(struct merged) nodes; /* by number in the tree */
    u32 traces;
    u64 threads;
};

void merger_init(struct merger *m);
void merger_fini(struct merger *m);
/* Add the tree of a trace, which is done. */
void merger_add(struct merger *m, const struct tree *t, u64 threads);
/* The table of what each further trace has added. */
void merger_coverage(const struct merger *m, struct result *r);

#endif
