/* SPDX-License-Identifier: MIT */
/* Edges in a hash table. */
#include "analyze/edges.h"
#include "base/err.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 1024 };

void depend_add(struct depend *to, const struct depend *from)
{
    to->least = MIN(to->least, from->least);
    to->count += from->count;
    to->cross += from->cross;
    to->sum += from->sum;
}

double depend_mean(const struct depend *n)
{
    return n->count ? (double)n->sum / (double)n->count : 0.0;
}

/* Where an edge's number is, or would be. */
static u32 *slot_of(const struct edges *x, u32 store, u32 load)
{
    u64 i = ((u64)store << 32 | load) * 0x9e3779b97f4a7c15 >> 32;
    for (;; i++) {
        u32 *slot = &x->slots[i & (x->n_slots - 1)];
        if (!*slot || (x->all.v[*slot - 1].store == store && x->all.v[*slot - 1].load == load))
            return slot;
    }
}

static void double_slots(struct edges *x)
{
    free(x->slots);
    x->n_slots = x->n_slots ? 2 * x->n_slots : FIRST_SLOTS;
    x->slots = calloc(x->n_slots, sizeof *x->slots);
    check(x->slots != NULL);
    for (size_t i = 0; i < x->all.n; i++)
        *slot_of(x, x->all.v[i].store, x->all.v[i].load) = (u32)i + 1;
}

struct edge *edges_find(struct edges *x, u32 store, u32 load)
{
    if (2 * x->all.n >= x->n_slots)
        double_slots(x);
    u32 *slot = slot_of(x, store, load);
    if (!*slot) {
        vec_push(&x->all, ((struct edge){store, load, DEPEND_NONE}));
        *slot = (u32)x->all.n;
    }
    vec_reach(&x->latest, load);
    x->latest.v[load] = *slot;
    return &x->all.v[*slot - 1];
}

void edges_fini(struct edges *x)
{
    vec_fini(&x->all);
    vec_fini(&x->latest);
    free(x->slots);
}
