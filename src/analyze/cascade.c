/* SPDX-License-Identifier: MIT */
/* Hierarchies in which nothing but misses passes from level to level: a level may see a whole list of touches before the next one sees any.
 * So the sets that it will need are known early, and are fetched early: nearly all of the time went to waiting for them. */
#include "analyze/cache_vector.h"
#include "analyze/hierarchy.h"

enum { AHEAD = 8 };

bool cascade_suits(const struct shape *s)
{
    for (u32 i = 0; i < s->n_caches; i++) {
        const struct cache_shape *c = &s->cache[i];
        if (c->writing != WRITING_ignore || c->prefetch || c->is_private)
            return false;
    }
    return true;
}

/* -- The first level ---------------------------------------------------------------------------- */

static void see_first(struct cache *const first[SIDES], u64 owner, const struct touch *x, u32 n,
                      struct touch_list *to)
{
    for (u32 i = 0; i < n; i++) {
        struct cache *c = first[x[i].id / TOUCH_CODE];
        const u64 line = x[i].line | owner;
        if (cache_find(c, line))
            continue;
        cache_put(c, line);
        vec_push(&to->v, x[i]);
    }
}

/* The same where sets are vectors, as many as a power of two. Whether the line is there or not, it is in front then, and those that were
 * before it are one place further: no branch depends on either. */
static VECTOR void see_first_vectors(struct cache *const first[SIDES], u64 owner,
                                     const struct touch *x, u32 n, struct touch_list *to)
{
    u64 *const lines[SIDES] = {first[0]->lines, first[1]->lines};
    const u64 mask[SIDES] = {first[0]->sets - 1, first[1]->sets - 1};
    struct touch *missed = vec_grow(&to->v, n);
    for (u32 i = 0; i < n; i++) {
        const u32 side = x[i].id / TOUCH_CODE;
        const u64 line = x[i].line | owner;
        u64 *set = lines[side] + (line & mask[side]) * CACHE_VECTOR_WAYS;
        const __m512i all = _mm512_set1_epi64((s64)line), v = _mm512_load_si512(set);
        const u32 found = _mm512_cmpeq_epi64_mask(v, all);
        _mm512_store_si512(
            set, _mm512_mask_alignr_epi64(v, (__mmask8)_blsmsk_u32(found), v, all, 7));
        *missed = x[i];
        missed += !found;
    }
    to->v.n = (size_t)(missed - to->v.v);
}

/* -- The others --------------------------------------------------------------------------------- */

/* A level, as one side sees it. */
struct next {
    struct cache *cache;
    u32 log2, above; /* of its lines' size, and of those of the level before it */
};

static void fetch(const struct next *c, u64 line)
{
    u64 at = line << c->above >> c->log2;
    __builtin_prefetch(c->cache->lines + cache_set_of(c->cache, at) * c->cache->ways);
}

static void see_next(const struct next next[SIDES], u64 owner, const struct touch_list *from,
                     struct touch_list *to)
{
    const struct touch *x = from->v.v, *last = x + from->v.n;
    for (; x < last; x++) {
        if (x + AHEAD < last)
            fetch(&next[x[AHEAD].id / TOUCH_CODE], x[AHEAD].line);
        const struct next *c = &next[x->id / TOUCH_CODE];
        const u64 start = x->line << c->above, end = start + (1ull << c->above);
        for (u64 line = start >> c->log2; line <= (end - 1) >> c->log2; line++)
            if (!cache_find(c->cache, line | owner)) {
                cache_put(c->cache, line | owner);
                vec_push(&to->v, ((struct touch){{line}, x->id, {x->at}}));
            }
    }
}

/* An event misses once, however many of its lines do. */
static void count(const struct touch_list *list, u32 level, struct tally *t,
                  struct crossing *crossings)
{
    for (size_t i = 0; i < list->v.n; i++)
        if (!i || list->v.v[i].at != list->v.v[i - 1].at)
            hierarchy_count(t, &list->v.v[i], crossings, 1u << level);
}

static u32 log2_of(const struct shape *s, enum side side, u32 level)
{
    return (u32)__builtin_ctz(s->cache[s->path[side][level]].line);
}

void cascade_take(struct hierarchy *h, struct hierarchy_part *part, struct core *core,
                  struct tally *t, const struct touch *x, size_t n, struct crossing *crossings)
{
    const struct shape *s = h->shape;
    struct cache *first[SIDES];
    bool vectors = true;
    for (u32 side = 0; side < SIDES; side++) {
        first[side] = core->cache[s->path[side][0]];
        vectors &= cache_is_vectors(first[side]);
    }
    struct touch_list *list = part->missed;
    list[0].v.n = 0;
    (vectors ? see_first_vectors : see_first)(first, t->owner, x, (u32)n, &list[0]);
    count(&list[0], 0, t, crossings);
    for (u32 level = 1; level < s->n_levels; level++) {
        struct next next[SIDES];
        for (u32 side = 0; side < SIDES; side++)
            next[side] = (struct next){core->cache[s->path[side][level]], log2_of(s, side, level),
                                       log2_of(s, side, level - 1)};
        list[level % 2].v.n = 0;
        see_next(next, t->owner, &list[(level + 1) % 2], &list[level % 2]);
        count(&list[level % 2], level, t, crossings);
    }
}
