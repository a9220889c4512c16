/* SPDX-License-Identifier: MIT */
/* Counting exits, which stand for the instructions up to them. */
#include "analyze/passes.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

bool events_ran(const struct events *e, u32 i, struct ran *r)
{
    const u32 id = e->batch->exit[i];
    if (id >= FIRST_EXIT_ID) {
        const struct unit_exit *x = &e->table->exits.v[id - FIRST_EXIT_ID];
        *r = (struct ran){.unit = x->unit, .insns = x->insns};
        return true;
    }
    if (id != RECORD_partial)
        return false;
    u64 slot;
    memcpy(&slot, e->records + e->batch->record_at[i] + RECORD_SLOTS_AT, 8);
    struct partial p = partial_of(slot);
    *r = (struct ran){.unit = p.unit, .insns = p.insns, .partial = true};
    return p.unit < load_acquire(&e->table->units.n) &&
           p.insns <= e->table->units.v[p.unit].n_insns;
}

void passes_count(struct passes *p, const struct events *e, u32 i, const struct ran *r)
{
    if (!r->partial) {
        u32 exit = e->batch->exit[i] - FIRST_EXIT_ID;
        vec_reach(&p->exits, exit);
        p->exits.v[exit]++;
        return;
    }
    u32 insn0 = e->table->units.v[r->unit].insn0;
    vec_reach(&p->insns, insn0 + r->insns);
    for (u32 k = 0; k < r->insns; k++)
        p->insns.v[insn0 + k]++;
}

void passes_add(struct passes *p, const struct events *e)
{
    struct ran r;
    u32 n = e->batch->n_records - e->unfinished;
    for (u32 i = 0; i < n; i++)
        if (events_ran(e, i, &r))
            passes_count(p, e, i, &r);
}

void passes_insns(const struct passes *p, const struct unit_table *t, u64 *insns)
{
    for (size_t k = 0; k < p->exits.n && k < t->exits.n; k++) {
        const struct unit_exit *x = &t->exits.v[k];
        const u32 insn0 = t->units.v[x->unit].insn0;
        for (u32 i = 0; p->exits.v[k] && i < x->insns; i++)
            insns[insn0 + i] += p->exits.v[k];
    }
    for (size_t i = 0; i < p->insns.n && i < t->insns.n; i++)
        insns[i] += p->insns.v[i];
}

u64 passes_total(const struct passes *p, const struct unit_table *t)
{
    u64 n = 0;
    for (size_t k = 0; k < p->exits.n && k < t->exits.n; k++)
        n += p->exits.v[k] * t->exits.v[k].insns;
    for (size_t i = 0; i < p->insns.n; i++)
        n += p->insns.v[i];
    return n;
}

void passes_refs(const struct passes *p, const struct unit_table *t, u64 *refs)
{
    for (size_t k = 0; k < p->exits.n && k < t->exits.n; k++) {
        const struct unit_exit *x = &t->exits.v[k];
        const u32 ref0 = t->units.v[x->unit].ref0;
        for (u32 j = 0; p->exits.v[k] && j < x->refs; j++)
            if (ref_is_made_once(&t->refs.v[ref0 + j]))
                refs[ref0 + j] += p->exits.v[k];
    }
}

void passes_join(struct passes *p, struct passes *from)
{
    if (from->exits.n)
        vec_reach(&p->exits, from->exits.n - 1);
    for (size_t k = 0; k < from->exits.n; k++)
        p->exits.v[k] += from->exits.v[k];
    if (from->insns.n)
        vec_reach(&p->insns, from->insns.n - 1);
    for (size_t i = 0; i < from->insns.n; i++)
        p->insns.v[i] += from->insns.v[i];
    passes_fini(from);
}

void passes_fini(struct passes *p)
{
    vec_fini(&p->exits);
    vec_fini(&p->insns);
}
