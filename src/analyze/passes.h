/* SPDX-License-Identifier: MIT */
/* What ran: of each record, and how often each instruction in all. */
#ifndef PASSES_H
#define PASSES_H

#include "base/vec.h"
#include "decode/decode.h"

/* The first instructions of a unit. */
struct ran {
    u32 unit, insns;
    bool partial; /* it was left in its middle */
};

/* What record i ran, if it tells of that. Of a live program, whose records may change while they are read, too: what is returned
 * is in the table. */
bool events_ran(const struct events *e, u32 i, struct ran *r);

/* Is this reference made exactly once whenever its instruction runs? */
static inline bool ref_is_made_once(const struct ref *r)
{
    return r->op == REF_PLAIN;
}

/* How often each exit was passed, and each instruction of units that were left in their middle. */
struct passes {
    VEC(u64) exits, insns;
};

/* Count what record i ran; one that goes on in the next batch is not to be counted yet. */
void passes_count(struct passes *p, const struct events *e, u32 i, const struct ran *r);
/* All of a batch. */
void passes_add(struct passes *p, const struct events *e);
/* How often each instruction ran: add to an array as long as the table's. */
void passes_insns(const struct passes *p, const struct unit_table *t, u64 *insns);
/* ... all of them together. */
u64 passes_total(const struct passes *p, const struct unit_table *t);
/* The same of references, but for those that passes do not tell of: of special forms, and of units left in their middle. */
void passes_refs(const struct passes *p, const struct unit_table *t, u64 *refs);
/* Add those of another; *from is left empty. */
void passes_join(struct passes *p, struct passes *from);
void passes_fini(struct passes *p);

#endif
