/* SPDX-License-Identifier: MIT */
/* Two open-addressing hashes, by app pc and by page; neither forgets but all at once. */
#include "translate/places.h"
#include "base/err.h"
#include "base/vast.h"

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
    struct place *v = vast_new_ready(cap * sizeof *v);
    for (u32 i = 0; i < p->cap; i++)
        if (p->v[i].pc)
            *probe(v, cap, p->v[i].pc) = p->v[i];
    vast_free(p->v, p->cap * sizeof *v);
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
    vast_free(p->v, p->cap * sizeof *p->v);
    *p = (struct places){0};
}

/* -- Pages ------------------------------------------------------------------------------------ */

static struct page *probe_page(struct page *v, u32 cap, u64 number)
{
    u32 i = (u32)((number * 0x9e3779b97f4a7c15ull) >> 32) & (cap - 1);
    while (v[i].number && v[i].number != number + 1)
        i = (i + 1) & (cap - 1);
    return &v[i];
}

static void grow_pages(struct pages *p)
{
    u32 cap = p->cap ? p->cap * 2 : 1024;
    struct page *v = calloc(cap, sizeof *v);
    check(v != NULL);
    for (u32 i = 0; i < p->cap; i++)
        if (p->v[i].number)
            *probe_page(v, cap, p->v[i].number - 1) = p->v[i];
    free(p->v);
    p->v = v;
    p->cap = cap;
}

struct page *pages_get(struct pages *p, u64 number)
{
    if (p->n * 2 >= p->cap)
        grow_pages(p);
    struct page *at = probe_page(p->v, p->cap, number);
    if (!at->number) {
        at->number = number + 1;
        p->n++;
    }
    return at;
}

struct page *pages_find(const struct pages *p, u64 number)
{
    struct page *at = p->cap ? probe_page(p->v, p->cap, number) : NULL;
    return at && at->number ? at : NULL;
}

void pages_fini(struct pages *p)
{
    for (u32 i = 0; i < p->cap; i++)
        vec_fini(&p->v[i].units);
    free(p->v);
    *p = (struct pages){0};
}
