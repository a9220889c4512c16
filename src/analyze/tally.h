/* SPDX-License-Identifier: MIT */
/* Counts of what single instructions and references of a memory's code met in the caches. Each part of the caches has its own. */
#ifndef TALLY_H
#define TALLY_H

#include "analyze/shape.h"
#include "analyze/touches.h"
#include "analyze/variables.h"
#include "base/vec.h"
#include "decode/decode.h"

/* What is counted of each: misses of the levels from 0 on, then these. */
struct slots {
    u32 tlb;         /* misses of the TLBs, by level */
    u32 invalidated; /* copies of other cores that a write took away */
    u32 regained; /* misses on lines that others' writes took away; `false_`: none of the bytes was written by them */
    u32 regained_false;
    u32 n;
};

/* What why.h knows of an instruction or reference. */
struct tally_point {
    u32 point;                      /* its number; 0: none yet */
    u32 place;                      /* of the data that it came to last, */
    struct variable_stretch latest; /* which is this, as of this change: */
    u64 change;
};

struct tally {
    const struct unit_table *table;
    u64 owner; /* of the memory's lines, see cache.h */
    u32 slots;
    VEC(u64) insns, refs; /* by number in the table, `slots` of each */
    u32 number; /* of the memory */
    VEC(struct tally_point) points[2]; /* of refs, of insns */
};

struct slots slots_of(const struct shape *s);
/* The counts of a reference, or with TOUCH_CODE of an instruction. */
u64 *tally_of(struct tally *t, u32 id);
/* Count in this slot once more. */
static inline void tally_add(struct tally *t, u32 id, u32 slot)
{
    const bool is_code = id & TOUCH_CODE;
    const size_t at = (size_t)(id & ~TOUCH_CODE) * t->slots + slot;
    if (__builtin_expect(at < (is_code ? t->insns.n : t->refs.n), 1))
        (is_code ? t->insns.v : t->refs.v)[at]++;
    else
        tally_of(t, id)[slot]++;
}
/* The same to look at; NULL: all are 0. */
const u64 *tally_look(const struct tally *t, u32 id);
/* Of the instruction itself, or that makes the reference. */
u64 tally_pc(const struct tally *t, u32 id);
void tally_fini(struct tally *t);

#endif
