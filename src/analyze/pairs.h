/* SPDX-License-Identifier: MIT */
/* Dependences of one instruction on another, shown by the places of both: the most first. */
#ifndef PAIRS_H
#define PAIRS_H

#include "analyze/edges.h"
#include "analyze/spots.h"

struct pair {
    u32 process; /* whose memory the code of both is in */
    u64 store, load;
    struct depend n;
};

enum pair_sort { PAIRS_count, PAIRS_cross };

struct pairs {
    enum by by;
    enum pair_sort sort;
    VEC(struct pair) rows;
};

/* Add to a pair; the same may come many times. */
void pairs_add(struct pairs *p, u32 process, u64 store, u64 load, const struct depend *n);
/* All of them together. */
struct depend pairs_total(const struct pairs *p);
void pairs_table(struct pairs *p, struct sources *sources, struct table *t);
void pairs_fini(struct pairs *p);

#endif
