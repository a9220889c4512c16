/* SPDX-License-Identifier: MIT */
/* Makers of touches, lent to threads: there are many works, and what a maker has would not be in this core's caches if each had its own. */
#ifndef MAKERS_H
#define MAKERS_H

#include "analyze/touches.h"

#include <pthread.h>

/* What they make. */
struct touch_plan {
    const struct unit_table *table;
    struct touch_rule lines[TOUCH_SIDES], pages[TOUCH_SIDES];
    bool has_pages;
    bool by_line, timed; /* the lines', as struct touch_maker has them */
};

struct maker {
    pthread_t thread; /* that had it last */
    bool is_lent;
    struct touch_maker lines, pages; /* pages only if the plan has them */
};

struct makers {
    struct touch_plan plan;
    pthread_mutex_t lock; /* guards what follows */
    VEC(struct maker *) list;
};

void makers_init(struct makers *m, const struct touch_plan *plan);
/* The one that this thread had last, if nobody else has it now. */
struct maker *makers_lend(struct makers *m);
void makers_take_back(struct makers *m, struct maker *x);
/* How often each instruction ran and each reference was made: add to arrays as long as the table's. */
void makers_counts(struct makers *m, u64 *insns, u64 *refs);
void makers_fini(struct makers *m);

#endif
