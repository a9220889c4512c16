/* SPDX-License-Identifier: MIT */
/* Sorted lists: one for all large blocks, and one for the small ones of each grain. */
#include "analyze/blocks.h"

#include <stdlib.h>
#include <string.h>

enum { GRAIN_LOG2 = 16 };

/* -- Lists -------------------------------------------------------------------------------------- */

/* How many of them begin at the address or before it. */
static size_t up_to(const struct block_list *l, u64 address)
{
    size_t from = 0, to = l->v.n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (l->v.v[middle].start <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static void cut(struct block_list *l, size_t from, size_t to)
{
    if (to < l->v.n)
        memmove(l->v.v + from, l->v.v + to, (l->v.n - to) * sizeof *l->v.v);
    l->v.n -= to - from;
}

static void insert(struct block_list *l, size_t at, struct block x)
{
    vec_push(&l->v, x);
    memmove(l->v.v + at + 1, l->v.v + at, (l->v.n - 1 - at) * sizeof *l->v.v);
    l->v.v[at] = x;
}

/* Forget those that overlap a range; where a new one would stand. */
static size_t clear(struct block_list *l, u64 start, u64 end)
{
    size_t to = up_to(l, end - 1), from = to;
    while (from && l->v.v[from - 1].end > start)
        from--;
    cut(l, from, to);
    return from;
}

static const struct block *find(const struct block_list *l, u64 address)
{
    size_t i = up_to(l, address);
    return i && l->v.v[i - 1].end > address ? &l->v.v[i - 1] : NULL;
}

/* -- Grains ------------------------------------------------------------------------------------- */

static struct block_grain *slot_of(struct block_grain *grains, u64 mask, u64 number)
{
    u64 i = number * 0x9e3779b97f4a7c15ull >> 32;
    while (grains[i & mask].number && grains[i & mask].number != number + 1)
        i++;
    return &grains[i & mask];
}

static struct block_list *grain(struct blocks *b, u64 address)
{
    if (!b->grains)
        return NULL;
    struct block_grain *g = slot_of(b->grains, b->mask, address >> GRAIN_LOG2);
    return g->number ? &g->list : NULL;
}

static struct block_list *let_there_be(struct blocks *b, u64 address)
{
    if (2 * (b->n_grains + 1) > b->mask) {
        u64 mask = MAX(2 * b->mask + 1, 255ul);
        struct block_grain *grains = zeros(mask + 1, sizeof *grains);
        for (u64 i = 0; b->grains && i <= b->mask; i++)
            if (b->grains[i].number)
                *slot_of(grains, mask, b->grains[i].number - 1) = b->grains[i];
        free(b->grains);
        b->grains = grains;
        b->mask = mask;
    }
    struct block_grain *g = slot_of(b->grains, b->mask, address >> GRAIN_LOG2);
    b->n_grains += !g->number;
    g->number = (address >> GRAIN_LOG2) + 1;
    return &g->list;
}

/* -- All of them -------------------------------------------------------------------------------- */

static bool is_large(const struct block *x)
{
    return x->is_mapping || x->end - x->start > 1 << GRAIN_LOG2;
}

/* Forget the small ones that overlap a range: those of its grains, and of the one before. */
static void clear_small(struct blocks *b, u64 start, u64 end)
{
    const u64 first = (start >> GRAIN_LOG2) - (start >> GRAIN_LOG2 != 0), last = (end - 1) >> GRAIN_LOG2;
    if (last - first > b->mask) {
        for (u64 i = 0; b->grains && i <= b->mask; i++)
            clear(&b->grains[i].list, start, end);
        return;
    }
    for (u64 g = first; g <= last; g++) {
        struct block_list *l = grain(b, g << GRAIN_LOG2);
        if (l)
            clear(l, start, end);
    }
}

void blocks_add(struct blocks *b, struct block x)
{
    if (x.end <= x.start)
        return;
    clear_small(b, x.start, x.end);
    if (is_large(&x)) {
        insert(&b->large, clear(&b->large, x.start, x.end), x);
        return;
    }
    struct block_list *l = let_there_be(b, x.start);
    insert(l, up_to(l, x.start), x);
}

void blocks_remove(struct blocks *b, u64 start)
{
    struct block_list *l = grain(b, start);
    size_t i = l ? up_to(l, start) : 0;
    if (i && l->v.v[i - 1].start == start) {
        cut(l, i - 1, i);
        return;
    }
    i = up_to(&b->large, start);
    if (i && b->large.v.v[i - 1].start == start && !b->large.v.v[i - 1].is_mapping)
        cut(&b->large, i - 1, i);
}

void blocks_unmap(struct blocks *b, u64 start, u64 end)
{
    if (end <= start)
        return;
    size_t i = up_to(&b->large, start);
    struct block around = i ? b->large.v.v[i - 1] : (struct block){0};
    size_t last = up_to(&b->large, end - 1);
    struct block behind = last ? b->large.v.v[last - 1] : (struct block){0};
    clear_small(b, start, end);
    size_t at = clear(&b->large, start, end);
    if (behind.end > end && behind.start < end) {
        behind.start = end;
        insert(&b->large, at, behind);
    }
    if (around.end > start && around.start < start) {
        around.end = start;
        insert(&b->large, at, around);
    }
}

const struct block *blocks_find(struct blocks *b, u64 address)
{
    for (u32 k = 0; k < 2; k++) {
        const struct block_list *l = grain(b, address - ((u64)k << GRAIN_LOG2));
        const struct block *x = l ? find(l, address) : NULL;
        if (x)
            return x;
    }
    return find(&b->large, address);
}

void blocks_fini(struct blocks *b)
{
    for (u64 i = 0; b->grains && i <= b->mask; i++)
        vec_fini(&b->grains[i].list.v);
    free(b->grains);
    vec_fini(&b->large.v);
}
