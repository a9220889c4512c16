/* SPDX-License-Identifier: MIT */
/* Hierarchies in which nothing but misses passes from level to level: a level may see a whole list of touches before the next one sees any.
 * So the sets that it will need are known early, and are fetched early: nearly all of the time went to waiting for them. */
#include "analyze/cache_vector.h"
#include "analyze/hierarchy.h"

enum { AHEAD = 8 };

/* Code and data come in lists of their own, from which is left out what finds the latest line of a set: the first levels must not be one cache, nor remember
 * how often a line was found. */
bool cascade_suits(const struct shape *s)
{
    const u32 code = s->path[SIDE_code][0], data = s->path[SIDE_data][0];
    if (code == data || s->cache[code].policy == POLICY_rrip || s->cache[data].policy == POLICY_rrip)
        return false;
    for (u32 i = 0; i < s->n_caches; i++) {
        const struct cache_shape *c = &s->cache[i];
        if (c->writing != WRITING_ignore || c->prefetch || c->is_private)
            return false;
    }
    return true;
}

/* -- The first level ---------------------------------------------------------------------------- */

static void see_first(struct cache *c, u64 owner, const struct touch *x, size_t n, struct touch_list *to)
{
    for (const struct touch *end = x + n; x < end; x++) {
        if (cache_find(c, x->line | owner))
            continue;
        cache_put(c, x->line | owner);
        vec_push(&to->v, *x);
    }
}

/* The same where sets are vectors, as many as a power of two. Whether the line is there or not, it is in front then, and those that were
 * before it are one place further: no branch depends on either. */
static VECTOR void see_first_vectors(struct cache *c, u64 owner, const struct touch *x, size_t n, struct touch_list *to)
{
    const u64 mask = c->sets - 1;
    struct touch *missed = vec_grow(&to->v, n);
    u64 *before = NULL;
    __m512i v = _mm512_setzero_si512();
    for (const struct touch *end = x + n; x < end; x++) {
        const u64 line = x->line | owner;
        u64 *set = c->lines + (line & mask) * CACHE_VECTOR_WAYS;
        const __m512i all = _mm512_set1_epi64((s64)line);
        if (set != before) /* else its store is under way, and a load would wait for that */
            v = _mm512_load_si512(set);
        before = set;
        const __mmask8 found = _mm512_cmpeq_epi64_mask(v, all);
        /* Those up to where it was, or all of them. */
        const __mmask8 moved = _kxor_mask8(found, _kadd_mask8(found, 0xff));
        v = _mm512_mask_alignr_epi64(v, moved, v, all, 7);
        _mm512_store_si512(set, v);
        *missed = *x;
        missed += !found;
    }
    to->v.n = (size_t)(missed - to->v.v);
}

/* Two lists in the order of their places become one. */
static void merge(const struct touch_list from[TOUCH_SIDES], struct touch_list *to)
{
    const struct touch *x = from[0].v.v, *y = from[1].v.v, *x_end = x + from[0].v.n, *y_end = y + from[1].v.n;
    struct touch *at = vec_grow(&to->v, from[0].v.n + from[1].v.n);
    while (x < x_end && y < y_end)
        *at++ = (x->at & ~TOUCH_CROSSING) < (y->at & ~TOUCH_CROSSING) ? *x++ : *y++;
    while (x < x_end)
        *at++ = *x++;
    while (y < y_end)
        *at++ = *y++;
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

/* The same for one cache whose sets are two vectors, and whose lines are as long as those above. */
static bool is_two_vectors(const struct next next[SIDES])
{
    const struct cache *c = next[0].cache;
    return c == next[1].cache && c->policy == POLICY_lru && c->ways == 2 * CACHE_VECTOR_WAYS && c->has_vectors && !(c->sets & (c->sets - 1)) &&
           next[0].log2 == next[0].above && next[1].log2 == next[1].above;
}

static VECTOR void see_next_vectors(const struct cache *c, u64 owner, const struct touch_list *from, struct touch_list *to)
{
    const struct touch *x = from->v.v, *end = x + from->v.n;
    const u64 mask = c->sets - 1;
    struct touch *missed = vec_grow(&to->v, from->v.n);
    for (; x < end; x++) {
        const u64 line = x->line | owner;
        u64 *set = c->lines + (line & mask) * 2 * CACHE_VECTOR_WAYS;
        if (x + AHEAD < end) {
            const u64 *ahead = c->lines + ((x[AHEAD].line | owner) & mask) * 2 * CACHE_VECTOR_WAYS;
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + CACHE_VECTOR_WAYS);
        }
        const __m512i all = _mm512_set1_epi64((s64)line), v = _mm512_load_si512(set),
                      w = _mm512_load_si512(set + CACHE_VECTOR_WAYS);
        const u32 found = _mm512_cmpeq_epi64_mask(v, all) | (u32)_mm512_cmpeq_epi64_mask(w, all) << 8, moved = found ^ (found - 1);
        _mm512_store_si512(set, _mm512_mask_alignr_epi64(v, (__mmask8)moved, v, all, 7));
        _mm512_store_si512(set + CACHE_VECTOR_WAYS, _mm512_mask_alignr_epi64(w, (__mmask8)(moved >> 8), w, v, 7));
        *missed = *x;
        missed += !found;
    }
    to->v.n = (size_t)(missed - to->v.v);
}

/* An event misses once, however many of its lines do. */
static void count(const struct touch_list *list, u32 level, struct tally *t,
                  struct crossing *crossings)
{
    const struct touch *x = list->v.v, *end = x + list->v.n;
    for (; x < end; x++) {
        if (x > list->v.v && touch_goes_on(x, x - 1))
            continue;
        if (x->at & TOUCH_CROSSING)
            hierarchy_count(t, x, crossings, 1u << level);
        else
            tally_add(t, x->id, level);
    }
}

static u32 log2_of(const struct shape *s, enum side side, u32 level)
{
    return (u32)__builtin_ctz(s->cache[s->path[side][level]].line);
}

void cascade_take(struct hierarchy *h, struct hierarchy_part *part, struct core *core,
                  struct tally *t, const struct touch_list *const touches[TOUCH_SIDES], struct crossing *crossings)
{
    static const enum side side_of[TOUCH_SIDES] = {[TOUCH_OF_CODE] = SIDE_code, [TOUCH_OF_DATA] = SIDE_data};
    const struct shape *s = h->shape;
    struct touch_list *list = part->missed;
    for (u32 k = 0; k < TOUCH_SIDES; k++) {
        struct cache *c = core->cache[s->path[side_of[k]][0]];
        part->first[k].v.n = 0;
        (cache_is_vectors(c) ? see_first_vectors : see_first)(c, t->owner, touches[k]->v.v, touches[k]->v.n, &part->first[k]);
    }
    list[0].v.n = 0;
    merge(part->first, &list[0]);
    count(&list[0], 0, t, crossings);
    for (u32 level = 1; level < s->n_levels; level++) {
        struct next next[SIDES];
        for (u32 side = 0; side < SIDES; side++)
            next[side] = (struct next){core->cache[s->path[side][level]], log2_of(s, side, level),
                                       log2_of(s, side, level - 1)};
        list[level % 2].v.n = 0;
        if (is_two_vectors(next))
            see_next_vectors(next[0].cache, t->owner, &list[(level + 1) % 2], &list[level % 2]);
        else
            see_next(next, t->owner, &list[(level + 1) % 2], &list[level % 2]);
        count(&list[level % 2], level, t, crossings);
    }
}
