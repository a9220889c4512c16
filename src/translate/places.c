/* SPDX-License-Identifier: MIT */
/* An open-addressing hash by app pc; places are never removed. */
#include "translate/places.h"
#include "base/err.h"

#include <stdlib.h>

static struct place *probe(struct place *v, u32 cap, u64 pc)
{
    u32 i = (u32)((pc * 0x9e3779b97f4a7c15ull) >> 32) & (cap - 1);
    while (v[i].pc && v[i].pc != pc)
        i = (i + 1) & (cap - 1);
    return &v[i];
}

static void grow(struct places *p)
{
    u32 cap = p->cap ? p->cap * 2 : 4096;
    struct place *v = calloc(cap, sizeof *v);
    check(v != NULL);
    for (u32 i = 0; i < p->cap; i++)
        if (p->v[i].pc)
            *probe(v, cap, p->v[i].pc) = p->v[i];
    free(p->v);
    p->v = v;
    p->cap = cap;
}

struct place *places_get(struct places *p, u64 pc)
{
    if (p->n * 2 >= p->cap)
        grow(p);
    struct place *at = probe(p->v, p->cap, pc);
    if (!at->pc) {
        at->pc = pc;
        p->n++;
    }
    return at;
}

struct place *places_find(const struct places *p, u64 pc)
{
    struct place *at = p->cap ? probe(p->v, p->cap, pc) : NULL;
    return at && at->pc ? at : NULL;
}

void places_fini(struct places *p)
{
    free(p->v);
    *p = (struct places){0};
}
