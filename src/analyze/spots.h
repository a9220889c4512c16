/* SPDX-License-Identifier: MIT */
/* Counts of instructions, shown by function, line or instruction: the heaviest first. */
#ifndef SPOTS_H
#define SPOTS_H

#include "analyze/result.h"
#include "analyze/sources.h"
#include "base/err.h"

/* What a row stands for: all instructions of a function, or of a line, or one. */
enum by { BY_function, BY_line, BY_instruction };

/* The value of an option `by`; -1 with the rest of a sentence. */
int by_read(enum by *by, const char *value, struct err *e);
/* The order of places; 0 if they are in the same row. */
int by_compare(enum by by, const struct source *x, const struct source *y);
/* Columns for a place, whose names begin with `prefix`, and its cells: where the next one is. */
void by_columns(enum by by, const char *prefix, struct table *t);
union cell *by_cells(enum by by, const struct source *p, struct result *r, union cell *c);

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
