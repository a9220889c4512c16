/* SPDX-License-Identifier: MIT */
/* Simulated TLBs: for code, for data, and behind both a second level. They are a part of their own, apart from the caches. */
#ifndef TLB_H
#define TLB_H

#include "analyze/cache.h"
#include "analyze/tally.h"
#include "analyze/touches.h"

struct tlbs {
    const struct shape *shape;
    struct slots slots;
    struct cache *core[SHAPE_CORES][SHAPE_TLBS]; /* NULL: not used yet */
};

void tlbs_init(struct tlbs *t, const struct shape *s);
void tlbs_fini(struct tlbs *t);
/* What touches of pages they want to see. */
struct touch_rule tlbs_rule(const struct shape *s, enum side side);
/* Let them see these touches of a core, one after the other. */
void tlbs_take(struct tlbs *t, u32 core, struct tally *tally, const struct touch *x, size_t n);

#endif
