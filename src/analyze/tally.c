/* SPDX-License-Identifier: MIT */
/* Arrays of counts. */
#include "analyze/tally.h"

#include <stdlib.h>

struct slots slots_of(const struct shape *s)
{
    u32 at = s->n_levels;
    struct slots x = {.tlb = at};
    at += s->n_tlb_levels;
    x.invalidated = at;
    x.regained = at + 1;
    x.regained_false = at + 2;
    x.n = shape_private_levels(s) ? at + 3 : at;
    return x;
}

u64 *tally_of(struct tally *t, u32 id)
{
    size_t at = (size_t)(id & ~TOUCH_CODE) * t->slots;
    if (id & TOUCH_CODE) {
        vec_reach(&t->insns, at + t->slots);
        return &t->insns.v[at];
    }
    vec_reach(&t->refs, at + t->slots);
    return &t->refs.v[at];
}

const u64 *tally_look(const struct tally *t, u32 id)
{
    size_t at = (size_t)(id & ~TOUCH_CODE) * t->slots;
    if (id & TOUCH_CODE)
        return at + t->slots <= t->insns.n ? &t->insns.v[at] : NULL;
    return at + t->slots <= t->refs.n ? &t->refs.v[at] : NULL;
}

/* The unit whose references this one is among: they are numbered in the order of the units. */
static const struct unit *unit_of_ref(const struct unit_table *t, u32 ref)
{
    size_t from = 0, to = load_acquire(&t->units.n);
    while (to - from > 1) {
        size_t middle = from + (to - from) / 2;
        if (t->units.v[middle].ref0 <= ref)
            from = middle;
        else
            to = middle;
    }
    return &t->units.v[from];
}

u64 tally_pc(const struct tally *t, u32 id)
{
    if (id & TOUCH_CODE)
        return t->table->insns.v[id & ~TOUCH_CODE].pc;
    return t->table->insns.v[unit_of_ref(t->table, id)->insn0 + t->table->refs.v[id].insn].pc;
}

void tally_fini(struct tally *t)
{
    vec_fini(&t->insns);
    vec_fini(&t->refs);
    vec_fini(&t->points[0]);
    vec_fini(&t->points[1]);
}
