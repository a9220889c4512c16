/* SPDX-License-Identifier: MIT */
/* TLBs are caches of the numbers of pages. */
#include "analyze/tlb.h"
#include "base/err.h"

#include <stdlib.h>

enum { SMALL_SHIFT = 12, HUGE_SHIFT = 21 };

void tlbs_init(struct tlbs *t, const struct shape *s)
{
    *t = (struct tlbs){.shape = s, .slots = slots_of(s)};
}

void tlbs_fini(struct tlbs *t)
{
    for (u32 i = 0; i < SHAPE_CORES; i++)
        for (u32 k = 0; k < t->shape->n_tlbs; k++)
            if (t->core[i][k] && (!i || t->shape->tlb[k].is_private)) {
                cache_fini(t->core[i][k]);
                free(t->core[i][k]);
            }
}

/* The TLB of a level for pages of a size; n_tlbs if there is none. */
static u32 tlb_of(const struct shape *s, u32 level, enum side side, bool huge)
{
    u32 i = 0;
    while (i < s->n_tlbs && (s->tlb[i].level != level || !s->tlb[i].takes[side] ||
                             !(huge ? s->tlb[i].huge : s->tlb[i].small)))
        i++;
    return i;
}

/* Where there are pages of two sizes, what is the latest page of a set does not follow from addresses of one size. A page that no TLB of
 * the first level takes misses each time. */
struct touch_rule tlbs_rule(const struct shape *s, enum side side)
{
    struct touch_rule r = {.sets = 1, .line = 1 << SMALL_SHIFT};
    const u32 small = tlb_of(s, 0, side, false), huge = tlb_of(s, 0, side, true);
    if (small < s->n_tlbs && !s->n_huge)
        r.sets = s->tlb[small].entries / s->tlb[small].ways;
    r.every = small == s->n_tlbs || (s->n_huge && huge == s->n_tlbs);
    for (u32 i = 0; i < s->n_tlbs; i++)
        r.every |= s->tlb[i].policy == POLICY_rrip;
    return r;
}

/* One that all cores share is made for the first. */
static struct cache *cache_of(struct tlbs *t, u32 core, u32 i)
{
    const struct tlb_shape *s = &t->shape->tlb[i];
    struct cache **c = &t->core[s->is_private ? core : 0][i];
    if (!*c) {
        *c = malloc(sizeof **c);
        check(*c != NULL);
        cache_init(*c, s->entries / s->ways, s->ways, s->policy);
    }
    return *c;
}

static bool is_huge(const struct shape *s, u64 address)
{
    for (u32 i = 0; i < s->n_huge; i++)
        if (address >= s->huge[i].start && address < s->huge[i].end)
            return true;
    return false;
}

/* Which levels miss a page: bits. */
static u32 look_up(struct tlbs *t, u32 core, enum side side, bool huge, u64 page)
{
    u32 missed = 0;
    for (u32 level = 0; level < t->shape->n_tlb_levels; level++) {
        u32 i = tlb_of(t->shape, level, side, huge);
        if (i < t->shape->n_tlbs && cache_find(cache_of(t, core, i), page))
            break;
        missed |= 1u << level;
        if (i < t->shape->n_tlbs)
            cache_put(cache_of(t, core, i), page);
    }
    return missed;
}

static u32 touch_pages(struct tlbs *t, u32 core, const struct touch *x, u64 owner)
{
    const enum side side = x->id & TOUCH_CODE ? SIDE_code : SIDE_data;
    u64 at = x->address & ADDRESS_MASK, end = at + (x->size & TOUCH_SIZE);
    u32 missed = 0;
    while (at < end) {
        const bool huge = is_huge(t->shape, at);
        const u32 shift = huge ? HUGE_SHIFT : SMALL_SHIFT;
        u64 page = (at & ADDRESS_MASK) >> shift;
        missed |= look_up(t, core, side, huge, page | owner | (huge ? LINE_HUGE : 0));
        at = ((at >> shift) + 1) << shift;
    }
    return missed;
}

static bool takes(const struct shape *s, enum side side)
{
    return tlb_of(s, 0, side, false) < s->n_tlbs || tlb_of(s, 0, side, true) < s->n_tlbs;
}

void tlbs_take(struct tlbs *t, u32 core, struct tally *tally, const struct touch *x, size_t n)
{
    const bool taken[SIDES] = {takes(t->shape, SIDE_data), takes(t->shape, SIDE_code)};
    for (const struct touch *end = x + n; x < end; x++) {
        u32 missed = taken[x->id / TOUCH_CODE] ? touch_pages(t, core, x, tally->owner) : 0;
        if (!missed)
            continue;
        u64 *counts = tally_of(tally, x->id) + t->slots.tlb;
        for (; missed; missed &= missed - 1)
            counts[__builtin_ctz(missed)]++;
    }
}
