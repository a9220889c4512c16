/* SPDX-License-Identifier: MIT */
/* The analysis `cache`, between its two files: misses.c gathers, misses_report.c tells. */
#ifndef MISSES_H
#define MISSES_H

#include "analyze/hierarchy.h"
#include "analyze/lent.h"
#include "analyze/makers.h"
#include "analyze/spots.h"
#include "analyze/tlb.h"

/* What a column counts of an instruction. */
enum { MADE = UINT32_MAX /* in place of a slot: that it ran, or was made */ };
enum column_of { OF_insns, OF_reads, OF_writes, OF_all };
struct misses_column {
    char name[8], what[80];
    enum column_of of;
    u32 slot;
};

struct misses {
    struct shape_given given;
    struct shape shape; /* what will be simulated */
    bool sharing;
    bool asks_why, by_given;
    const char *level; /* why that one misses: a cache's name, l1 or ll; NULL: not given */
    bool begun;
    struct hierarchy hierarchy;
    struct why why; /* if it is asked for */
    struct tlbs tlbs;
    u32 parts;       /* of the caches */
    bool tlbs_apart; /* the TLBs are a part behind those; else they are with the only one */
    const char *sort;
    struct misses_column column[SPOT_COUNTS];
    u32 n_columns;
    struct spots spots;
    struct variables *variables;
    struct lent *lent; /* of each part, if sharing is looked at */
};

/* Name the columns, and find what to sort by; -1 with a sentence. */
int misses_columns(struct misses *m, struct err *e);
void misses_tell(struct misses *m, struct sources *s, struct result *r);

#endif
