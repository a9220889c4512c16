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

struct first {
    struct cache *cache;
    u32 log2;
};

static void see_first(const struct first first[SIDES], u64 owner, const struct touch *x, u32 n,
                      struct missed_list *to)
{
    for (u32 i = 0; i < n; i++) {
        const struct first *f = &first[x[i].id / TOUCH_CODE];
        const u64 at = x[i].address & ADDRESS_MASK;
        u64 line = at >> f->log2 | owner,
            last = (at + x[i].size % TOUCH_CROSSING - 1) >> f->log2 | owner;
        for (; line <= last; line++)
            if (!cache_find(f->cache, line)) {
                cache_put(f->cache, line);
                vec_push(&to->v, ((struct missed){line, i}));
            }
    }
}

/* The same where sets are vectors, as many as a power of two. */
static inline VECTOR bool see_line(const struct first *f, u64 line)
{
    u64 *set = f->cache->lines + (line & (f->cache->sets - 1)) * CACHE_VECTOR_WAYS;
    if (set[0] == line || cache_vector_find(set, line))
        return true;
    cache_vector_put(set, line);
    return false;
}

static VECTOR void see_first_vectors(const struct first first[SIDES], u64 owner,
                                     const struct touch *x, u32 n, struct missed_list *to)
{
    for (u32 i = 0; i < n; i++) {
        const struct first *f = &first[x[i].id / TOUCH_CODE];
        const u64 at = x[i].address & ADDRESS_MASK;
        u64 line = at >> f->log2 | owner,
            last = (at + x[i].size % TOUCH_CROSSING - 1) >> f->log2 | owner;
        for (; line <= last; line++)
            if (!see_line(f, line))
                vec_push(&to->v, ((struct missed){line, i}));
    }
}

/* -- The others --------------------------------------------------------------------------------- */

/* A level, as one side sees it. */
struct next {
    struct cache *cache;
    u32 log2, above; /* of its lines' size, and of those of the level before it */
};

static void fetch(const struct next *c, u64 line)
{
    u64 at = (line & LINE_NUMBER) << c->above >> c->log2;
    __builtin_prefetch(c->cache->lines + cache_set_of(c->cache, at) * c->cache->ways);
}

static void see_next(const struct next next[SIDES], u64 owner, const struct touch *x,
                     const struct missed_list *from, struct missed_list *to)
{
    const struct missed *m = from->v.v;
    for (size_t i = 0; i < from->v.n; i++) {
        if (i + AHEAD < from->v.n)
            fetch(&next[x[m[i + AHEAD].touch].id / TOUCH_CODE], m[i + AHEAD].line);
        const struct next *c = &next[x[m[i].touch].id / TOUCH_CODE];
        const u64 start = (m[i].line & LINE_NUMBER) << c->above, end = start + (1ull << c->above);
        for (u64 line = start >> c->log2; line <= (end - 1) >> c->log2; line++)
            if (!cache_find(c->cache, line | owner)) {
                cache_put(c->cache, line | owner);
                vec_push(&to->v, ((struct missed){line | owner, m[i].touch}));
            }
    }
}

/* A touch misses once, however many of its lines do. */
static void count(const struct missed_list *list, u32 level, struct tally *t, const struct touch *x,
                  struct crossing *crossings)
{
    for (size_t i = 0; i < list->v.n; i++)
        if (!i || list->v.v[i].touch != list->v.v[i - 1].touch)
            hierarchy_count(t, &x[list->v.v[i].touch], crossings, 1u << level);
}

static u32 log2_of(const struct shape *s, enum side side, u32 level)
{
    return (u32)__builtin_ctz(s->cache[s->path[side][level]].line);
}

void cascade_take(struct hierarchy *h, struct hierarchy_part *part, struct core *core,
                  struct tally *t, const struct touch *x, size_t n, struct crossing *crossings)
{
    const struct shape *s = h->shape;
    struct first first[SIDES];
    bool vectors = true;
    for (u32 side = 0; side < SIDES; side++) {
        first[side] = (struct first){core->cache[s->path[side][0]], log2_of(s, side, 0)};
        vectors &= cache_is_vectors(first[side].cache);
    }
    struct missed_list *list = part->missed;
    list[0].v.n = 0;
    (vectors ? see_first_vectors : see_first)(first, t->owner, x, (u32)n, &list[0]);
    count(&list[0], 0, t, x, crossings);
    for (u32 level = 1; level < s->n_levels; level++) {
        struct next next[SIDES];
        for (u32 side = 0; side < SIDES; side++)
            next[side] = (struct next){core->cache[s->path[side][level]], log2_of(s, side, level),
                                       log2_of(s, side, level - 1)};
        list[level % 2].v.n = 0;
        see_next(next, t->owner, x, &list[(level + 1) % 2], &list[level % 2]);
        count(&list[level % 2], level, t, x, crossings);
    }
}
