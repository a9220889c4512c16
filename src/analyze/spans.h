/* SPDX-License-Identifier: MIT */
/* Spans: accesses of one thread, one after the other, and what can be said of their reuse distances without the past.
 *
 * A line that was touched before in the same span has its distance counted at once. What is left of a span is its lines, each once, in the
 * order of their first touch: the distances of these depend on the past. And the past is changed only by the order of their last touch.
 *
 * Three things are looked at, one after the other; each has the lines that have left the one before it, in the order of their last touch.
 *
 *     the top       the four lines touched latest, in registers: most accesses end here
 *     the second    the eight behind them, a vector; where few accesses end there, spans do without
 *     all others    marks on the span's own line of time, and a hash table of the times                                            */
#ifndef SPANS_H
#define SPANS_H

#include "analyze/accesses.h"
#include "analyze/distances.h"
#include "analyze/fars.h"
#include "base/vec.h"
#include "decode/decode.h"


struct span_options {
    enum accessed of;
    u32 log2;               /* of a line's size */
    bool lists;             /* accesses are only listed: there are no spans */
    bool plain;             /* nothing that not every processor has */
    struct far_limits far;
};

struct access {
    u64 line;
    u32 id; /* as in fars.h */
};

struct span_line {
    u64 line;
    u32 id;   /* of the first touch */
    u32 rank; /* among the lines of its span by the last touch */
};

struct span {
    size_t first; /* of its lines */
    u32 n;
};

/* What came of some batches. */
struct spans {
    u32 thread;
    VEC(struct span) list;
    VEC(struct span_line) lines;
    VEC(struct access) accesses; /* if they are listed: those of the sample, but for immediate repeats */
    struct distances near;       /* within spans */
};

void spans_reset(struct spans *s, u32 thread);
void spans_fini(struct spans *s);

/* -- Making spans ------------------------------------------------------------------------------- */

struct spanner;

/* One at a time uses it; it goes on counting. */
struct spanner *spanner_new(const struct span_options *o, const struct unit_table *t);
void spanner_free(struct spanner *s);
/* Spans of a batch, of one in 2^sample lines. */
void spanner_add(struct spanner *s, const struct events *e, u32 sample, struct spans *to);

struct span_site {
    u64 accesses;
    u32 size; /* of a reference */
};

/* All it has counted. */
struct span_sites {
    VEC(struct span_site) refs, insns; /* by number in the table */
    struct fars fars;
};
const struct span_sites *spanner_sites(const struct spanner *s);

#endif
