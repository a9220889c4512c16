/* SPDX-License-Identifier: MIT */
/* Cores and parts, and lists of touches. */
#include "analyze/hierarchy.h"
#include "analyze/cache_vector.h"

#include <stdlib.h>

/* -- Cores -------------------------------------------------------------------------------------- */

/* Make all caches of a core that are its own; those of all are in `shared`, which is NULL if these are to be made. */
static void make_caches(struct core *c, const struct shape *s, const struct core *shared)
{
    for (u32 i = 0; i < s->n_caches; i++) {
        const struct cache_shape *x = &s->cache[i];
        if (x->is_private == !shared) {
            c->cache[i] = shared ? shared->cache[i] : NULL;
            c->strides[i] = shared ? shared->strides[i] : NULL;
            continue;
        }
        c->cache[i] = zeros(1, sizeof *c->cache[i]);
        cache_init(c->cache[i], shape_sets(x), x->ways, x->policy);
        if (x->prefetch == PREFETCH_stride)
            c->strides[i] = zeros(STRIDES, sizeof *c->strides[i]);
    }
}

static void free_caches(struct core *c, const struct shape *s, bool is_private)
{
    for (u32 i = 0; i < s->n_caches; i++)
        if (s->cache[i].is_private == is_private) {
            cache_fini(c->cache[i]);
            free(c->cache[i]);
            free(c->strides[i]);
        }
}

void hierarchy_add_core(struct hierarchy *h, u32 core)
{
    if (load_acquire(&h->core[core]))
        return;
    pthread_mutex_lock(&h->lock);
    if (!h->core[core]) {
        struct core *c = zeros(1, sizeof *c);
        make_caches(c, h->shape, &h->all);
        store_release(&h->core[core], c);
        store_release(&h->n_cores, MAX(h->n_cores, core + 1));
    }
    pthread_mutex_unlock(&h->lock);
}

void hierarchy_init(struct hierarchy *h, const struct shape *s, u32 parts, bool shares,
                    struct why *why, bool tells)
{
    *h = (struct hierarchy){.shape = s,
                            .slots = slots_of(s),
                            .private_levels = shape_private_levels(s),
                            .is_cascade = !why && !tells && !shares && cascade_suits(s),
                            .shares = shares,
                            .why = why,
                            .tells = tells,
                            .n_parts = parts};
    check(pthread_mutex_init(&h->lock, NULL) == 0);
    h->part = aligned_alloc(128, parts * sizeof *h->part);
    check(h->part != NULL);
    memset(h->part, 0, parts * sizeof *h->part);
    make_caches(&h->all, s, NULL);
}

static void fini_part(struct hierarchy_part *p)
{
    vec_fini(&p->first[TOUCH_OF_CODE].v);
    vec_fini(&p->first[TOUCH_OF_DATA].v);
    vec_fini(&p->missed[0].v);
    vec_fini(&p->missed[1].v);
    sharing_fini(&p->sharing);
    vec_fini(&p->told);
}

void hierarchy_fini(struct hierarchy *h)
{
    for (u32 i = 0; i < h->n_cores; i++)
        if (h->core[i]) {
            free_caches(h->core[i], h->shape, true);
            free(h->core[i]);
        }
    free_caches(&h->all, h->shape, false);
    for (u32 i = 0; i < h->n_parts; i++)
        fini_part(&h->part[i]);
    free(h->part);
    pthread_mutex_destroy(&h->lock);
}

struct cache_stats hierarchy_stats(const struct hierarchy *h, u32 cache)
{
    struct cache_stats n = {0};
    for (u32 i = 0; i < h->n_parts; i++) {
        const struct cache_stats *x = &h->part[i].stats[cache];
        n.writebacks += x->writebacks;
        n.withdrawn += x->withdrawn;
        n.prefetches += x->prefetches;
        n.useful += x->useful;
    }
    return n;
}

struct coherence_stats hierarchy_coherence(const struct hierarchy *h)
{
    struct coherence_stats n = {0};
    for (u32 i = 0; i < h->n_parts; i++) {
        n.invalidations += h->part[i].coherence.invalidations;
        n.upgrades += h->part[i].coherence.upgrades;
        n.interventions += h->part[i].coherence.interventions;
    }
    return n;
}

/* -- Touches ------------------------------------------------------------------------------------ */

/* A second touch of the latest line of a set changes nothing, and may be left out, unless
 *   - something else than touches may take the line away, or put another one in (inclusive caches, prefetches, one cache for both sides);
 *   - the policy tells lines that were used once from those that were used twice;
 *   - it writes, and writes go on to the next level, or do not bring the line in;
 *   - somebody wants to know which bytes are used; or, to know what is where at which time, which reference it is. */
struct touch_rule hierarchy_rule(const struct hierarchy *h, enum side side)
{
    const struct shape *s = h->shape;
    const struct cache_shape *c = &s->cache[s->path[side][0]];
    struct touch_rule r = {.sets = shape_sets(c),
                           .line = c->line,
                           .every = c->policy == POLICY_rrip || c->prefetch || c->bypassed ||
                                    s->path[SIDE_data][0] == s->path[SIDE_code][0] ||
                                    (h->why && (side == SIDE_data || h->why->takes[side])),
                           .every_write = c->writing == WRITING_through || h->shares,
                           .writes = c->writing != WRITING_ignore,
                           .keeps_four = c->policy == POLICY_lru && c->ways >= 4};
    for (u32 i = 0; i < s->n_caches; i++)
        r.every |= s->cache[i].inclusion == INCLUSION_inclusive;
    return r;
}

/* A first level. Most touches find their line there in a state that they do not change. */
struct first {
    struct cache *cache;
    u64 *lines, sets_mask; /* its, if sets are as many as a power of two */
    u32 log2;
    u64 mask[2], wanted[2]; /* a read's, a write's: the line's state, if masked so, is as wanted */
};

static struct first first_of(const struct hierarchy *h, const struct core *core, enum side side)
{
    const u32 i = h->shape->path[side][0];
    const struct cache_shape *s = &h->shape->cache[i];
    struct first f = {.cache = core->cache[i],
                      .lines = core->cache[i]->lines,
                      .sets_mask = core->cache[i]->sets - 1,
                      .log2 = (u32)__builtin_ctz(s->line),
                      .mask = {LINE_PREFETCHED, LINE_PREFETCHED | LINE_SHARED | LINE_DIRTY},
                      .wanted = {0, LINE_DIRTY}};
    const bool every = s->prefetch == PREFETCH_stride || (h->why && h->why->takes[side]);
    const bool changes[2] = {every, every || s->writing == WRITING_through || h->shares};
    for (u32 writes = 0; writes < 2; writes++)
        if (changes[writes]) { /* whatever the state is: none is as wanted */
            f.mask[writes] = 0;
            f.wanted[writes] = 1;
        }
    return f;
}

void hierarchy_count(struct tally *t, const struct touch *x, struct crossing *crossings, u32 missed)
{
    if (x->size & TOUCH_CROSSING) {
        __atomic_fetch_or(&crossings[x->id & ~TOUCH_CODE].missed, missed, __ATOMIC_RELAXED);
        return;
    }
    u64 *n = tally_of(t, x->id);
    for (; missed; missed &= missed - 1)
        n[__builtin_ctz(missed)]++;
}

/* All levels will be asked, most likely: their sets are fetched at the same time. */
static void fetch(const struct visit *v, u64 number)
{
    const struct shape *s = v->h->shape;
    for (u32 k = 1; k < s->n_levels; k++) {
        const struct cache *c = v->core->cache[s->path[v->side][k]];
        __builtin_prefetch(c->lines + cache_set_of(c, number) * c->stride);
    }
}

/* Whatever the first level does not answer at once. */
static __attribute__((noinline)) void visit(struct visit *v, const struct touch *x,
                                            struct crossing *crossings, const struct first *f)
{
    const u64 line_size = 1ull << f->log2, from = x->address & ADDRESS_MASK,
              end = from + (x->size & TOUCH_SIZE);
    if (v->h->why)
        why_reach(v->h->why, x);
    v->side = x->id & TOUCH_CODE ? SIDE_code : SIDE_data;
    v->id = x->size & TOUCH_CROSSING ? crossings[x->id & ~TOUCH_CODE].id : x->id;
    v->flags = x->size & ~TOUCH_SIZE;
    v->missed = 0;
    fetch(v, from >> f->log2);
    for (u64 at = from; at < end;) {
        u64 next = MIN((at & ~(line_size - 1)) + line_size, end);
        v->address = at;
        v->size = next - at;
        if (v->h->shares)
            v->bytes = sharing_bytes((u32)line_size, at, next - at);
        levels_visit(v, (at & ADDRESS_MASK) >> f->log2);
        at = next;
    }
    if (v->missed && v->h->tells)
        vec_push(&v->part->told, ((struct told){(u32)(x - v->list), v->missed}));
    else if (v->missed)
        hierarchy_count(v->tally, x, crossings, v->missed);
}

/* Whether the first level has the line, and in a state that stays. It may be asked again: a line that was found is found as it was. */
static inline bool answers(const struct first *f, u64 line, u32 writes)
{
    const u64 *there = cache_find(f->cache, line);
    return there && (*there & f->mask[writes]) == f->wanted[writes];
}

static void take(struct visit *v, const struct first first[SIDES], const struct touch *x, size_t n,
                 struct crossing *crossings)
{
    for (const struct touch *end = x + n; x < end; x++) {
        const struct first *f = &first[x->id / TOUCH_CODE];
        const u64 at = x->address & ADDRESS_MASK;
        u64 line = at >> f->log2, last = (at + (x->size & TOUCH_SIZE) - 1) >> f->log2;
        bool found = answers(f, line | v->tally->owner, x->size / TOUCH_WRITE);
        while (line < last && found)
            found = answers(f, ++line | v->tally->owner, x->size / TOUCH_WRITE);
        if (!found)
            visit(v, x, crossings, f);
    }
}

/* The same where the sets of the first level are vectors, as many as a power of two. */
static inline VECTOR bool answers_as_vector(const struct first *f, u64 line, u32 writes)
{
    u64 *set = f->lines + (line & f->sets_mask) * CACHE_VECTOR_WAYS;
    return ((set[0] & ~LINE_STATE) == line || cache_vector_find(set, line)) &&
           (set[0] & f->mask[writes]) == f->wanted[writes];
}

static VECTOR void take_vectors(struct visit *v, const struct first first[SIDES],
                                const struct touch *x, size_t n, struct crossing *crossings)
{
    const u64 owner = v->tally->owner;
    for (const struct touch *end = x + n; x < end; x++) {
        const struct first *f = &first[x->id / TOUCH_CODE];
        const u64 at = x->address & ADDRESS_MASK;
        const u32 writes = x->size / TOUCH_WRITE;
        u64 line = at >> f->log2 | owner,
            last = (at + (x->size & TOUCH_SIZE) - 1) >> f->log2 | owner;
        bool found = answers_as_vector(f, line, writes);
        while (__builtin_expect(line < last, 0) && found)
            found = answers_as_vector(f, ++line, writes);
        if (!found)
            visit(v, x, crossings, f);
    }
}

/* A line of an event. */
static void visit_line(struct visit *v, const struct touch *x, const struct first *f)
{
    const bool writes = x->line & TOUCH_WRITTEN;
    const u64 line = x->line & ~TOUCH_WRITTEN;
    if (answers(f, line | v->tally->owner, writes))
        return;
    v->flags = writes ? TOUCH_WRITE : 0;
    fetch(v, line);
    levels_visit(v, line);
}

/* The same of touches of lines. */
static void take_lines(struct visit *v, const struct first first[SIDES], const struct touch_list *const lists[TOUCH_SIDES], struct crossing *crossings)
{
    const struct touch *next[TOUCH_SIDES], *end[TOUCH_SIDES];
    for (u32 k = 0; k < TOUCH_SIDES; k++)
        end[k] = (next[k] = lists[k]->v.v) + lists[k]->v.n;
    for (;;) {
        const bool has_data = next[TOUCH_OF_DATA] < end[TOUCH_OF_DATA], has_code = next[TOUCH_OF_CODE] < end[TOUCH_OF_CODE];
        if (!has_data && !has_code)
            return;
        const enum touch_side k = has_data && (!has_code || touch_is_before(next[TOUCH_OF_DATA], next[TOUCH_OF_CODE])) ? TOUCH_OF_DATA : TOUCH_OF_CODE;
        const struct touch *event = next[k];
        v->side = k == TOUCH_OF_CODE ? SIDE_code : SIDE_data;
        v->id = event->at & TOUCH_CROSSING ? crossings[event->id & ~TOUCH_CODE].id : event->id;
        v->missed = 0;
        do
            visit_line(v, next[k]++, &first[v->side]);
        while (next[k] < end[k] && touch_goes_on(next[k], next[k] - 1));
        if (v->missed)
            hierarchy_count(v->tally, event, crossings, v->missed);
    }
}

static bool has_vectors(const struct cache *c)
{
    return c->vectors == 1 && !(c->sets & (c->sets - 1));
}

void hierarchy_take(struct hierarchy *h, u32 part, u32 core, bool is_alone, struct tally *t, struct touches *list)
{
    struct visit v = {.h = h,
                      .part = &h->part[part],
                      .core = load_acquire(&h->core[core]),
                      .core_number = core,
                      .tally = t};
    size_t n;
    const struct touch *x = v.list = touches_of(list, part, &n);
    v.part->told.n = 0;
    const struct touch_list *const lines[TOUCH_SIDES] = {touches_of_lines(list, part, TOUCH_OF_CODE), touches_of_lines(list, part, TOUCH_OF_DATA)};
    struct first first[SIDES];
    for (u32 side = 0; side < SIDES; side++)
        first[side] = first_of(h, v.core, side);
    if (h->is_cascade && (is_alone || !h->private_levels))
        cascade_take(h, v.part, v.core, t, lines, list->crossings.v);
    else if (h->is_cascade)
        take_lines(&v, first, lines, list->crossings.v);
    else
        (has_vectors(first[SIDE_data].cache) && has_vectors(first[SIDE_code].cache) ? take_vectors : take)(&v, first, x, n, list->crossings.v);
}
