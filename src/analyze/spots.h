/* SPDX-License-Identifier: MIT */
/* Counts of instructions, shown by function, line or instruction: the heaviest first. */
#ifndef SPOTS_H
#define SPOTS_H

#include "analyze/result.h"
#include "analyze/sources.h"
#include "base/err.h"

enum by { BY_function, BY_line, BY_instruction };

enum { SPOT_COUNTS = 24 };

struct spot {
    u32 process; /* whose memory the code is in */
    u64 pc;
    u64 count[SPOT_COUNTS];
};

struct spots {
    enum by by;
    u32 n_counts;
    const char *rate; /* a column of this name tells how many in 1000 of the first count; NULL: there is none */
    u64 rate_weight;  /* of which counts: bits */
    VEC(struct spot) rows;
};

/* The value of an option `by`; -1 with the rest of a sentence. */
int spots_by(struct spots *s, const char *value, struct err *e);
/* Add to an instruction; the same may come many times. */
void spots_add(struct spots *s, u32 process, u64 pc, const u64 *count);
/* The counts of all of them together. */
void spots_total(const struct spots *s, u64 *count);
/* Make rows of the table, whose first columns, the counts, are there already: columns for the place are added to them. The heaviest by
 * the sum of the counts whose bit is set in `weight` come first. */
void spots_table(struct spots *s, struct sources *sources, u64 weight, struct table *t);
void spots_fini(struct spots *s);

#endif
