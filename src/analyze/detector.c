/* SPDX-License-Identifier: MIT */
/* Pools and tables of runs, level upon level. */
#include "analyze/detector.h"
#include "base/err.h"

#include <emmintrin.h>
#include <string.h>

enum {
    LEAST = 3 /* items of a run */,
    PATIENCE = 4 /* windows that an unordered run is waited for */
};

#define PLACE_WEIGHT 0x9e3779b1u
#define SHAPE_WEIGHT 0x85ebca77u

/* Level 0 is by far the busiest, then level 1: what they need is made once for each, and once for all others. */
#define BY_LEVEL static inline __attribute__((always_inline))

static void put_item(struct detector *x, u32 l, const struct descriptor *d);

void detector_init(struct detector *x, const struct detector_rules *rules, struct pool *pool,
                   void *to)
{
    *x = (struct detector){.rules = rules,
                           .pool = pool,
                           .to = to,
                           .place_weight = rules->unordered ? 0 : PLACE_WEIGHT,
                           .few = rules->window <= DETECTOR_FEW};
    check(rules->depth < DESCRIPTOR_DEPTH);
}

/* -- Arrays of descriptors as deep as their level ----------------------------------------------- */

BY_LEVEL size_t run_size(u32 l)
{
    return offsetof(struct detector_run, d) + descriptor_size(l + 1);
}

BY_LEVEL struct descriptor *pooled(const struct detector_level *v, u32 l, u32 i)
{
    return (struct descriptor *)(v->pool + (v->pool_first + i) * descriptor_size(l));
}

BY_LEVEL struct detector_run *run_at(const struct detector_level *v, u32 l, u32 i)
{
    return (struct detector_run *)(v->runs + i * run_size(l));
}

size_t detector_memory(const struct detector *x)
{
    size_t n = x->n_levels * sizeof *x->levels;
    for (u32 l = 0; l < x->n_levels; l++)
        n += x->levels[l].pool_room * descriptor_size(l) + x->levels[l].runs_room * run_size(l);
    return n;
}

/* Most references of a program are made a few times: little is enough for them. */
BY_LEVEL void make_room(struct detector *x, u8 **array, u32 n, u32 *room, size_t size)
{
    if (n < *room)
        return;
    const u32 more = *room ? 2 * *room : 2;
    *array = pool_realloc(x->pool, *array, *room * size, more * size);
    *room = more;
}

BY_LEVEL void take_out(u8 *array, u32 *n, u32 i, size_t size)
{
    const u32 behind = --*n - i;
    if (behind) /* seldom */
        memmove(array + i * size, array + (i + 1) * size, behind * size);
}

BY_LEVEL struct detector_level *reach_level(struct detector *x, u32 l)
{
    if (l == x->n_levels) {
        x->levels =
            pool_realloc(x->pool, x->levels, l * sizeof *x->levels, (l + 1) * sizeof *x->levels);
        x->levels[x->n_levels++] = (struct detector_level){0};
    }
    return &x->levels[l];
}

/* -- Items -------------------------------------------------------------------------------------- */

/* Items of level l that differ in their starts and places only. */
BY_LEVEL bool alike(const struct descriptor *a, const struct descriptor *b, u32 l)
{
    return a->type == b->type && (!l || !memcmp(a->loop, b->loop, l * sizeof a->loop[0]));
}

/* The shape of items with one more loop around them. */
static u32 shape_of(u32 shape, const struct descriptor_loop *o)
{
    u64 x = (shape ^ o->count) * 0x9e3779b97f4a7c15;
    x = (x ^ x >> 32 ^ o->stride) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 29 ^ o->step) * 0x94d049bb133111eb;
    return (u32)(x >> 32);
}

static void give(struct detector *x, u32 l, const struct descriptor *d)
{
    if (l > x->rules->depth)
        x->rules->done(x->to, d);
    else
        put_item(x, l, d);
}

BY_LEVEL void end_run_of(struct detector *x, u32 l, u32 i)
{
    struct detector_level *v = &x->levels[l];
    union any_descriptor copy; /* levels may move */
    memcpy(&copy, &run_at(v, l, i)->d, descriptor_size(l + 1));
    copy.d.shape = shape_of(copy.d.shape, &copy.d.loop[l]);
    take_out(v->runs, &v->n_runs, i, run_size(l));
    give(x, l + 1, &copy.d);
}

static void end_run(struct detector *x, u32 l, u32 i)
{
    if (l)
        end_run_of(x, l, i);
    else
        end_run_of(x, 0, i);
}

/* -- Runs --------------------------------------------------------------------------------------- */

BY_LEVEL void go_on(struct detector *x, u32 l, u32 i, u64 place)
{
    struct detector_run *r = run_at(&x->levels[l], l, i);
    struct descriptor_loop *o = &r->d.loop[l];
    o->count++;
    r->next += o->stride;
    r->next_place = x->rules->unordered ? place : r->next_place + o->step;
    if (o->count == r->limit)
        end_run(x, l, i);
}

BY_LEVEL bool is_expected(const struct detector *x, const struct detector_run *r,
                          const struct descriptor *d, u32 l)
{
    return r->next == d->start && (r->next_place == d->place || x->rules->unordered) &&
           alike(&r->d, d, l);
}

BY_LEVEL bool join_run(struct detector *x, u32 l, const struct descriptor *d)
{
    struct detector_level *v = &x->levels[l];
    for (u32 i = 0; i < v->n_runs; i++)
        if (is_expected(x, run_at(v, l, i), d, l)) {
            go_on(x, l, i, d->place);
            return true;
        }
    return false;
}

/* If a run of the next level expects the item that this one begins to be, then it is as long as the others there: it must not go on
 * into what follows, even if that is where it would go on. Matrix products sweep each row many times and then begin the row behind
 * it. */
static u64 limit_of(const struct detector *x, u32 l, const struct detector_run *r)
{
    if (l + 1 >= x->n_levels)
        return UINT64_MAX;
    const struct detector_level *up = &x->levels[l + 1];
    const struct descriptor_loop *o = &r->d.loop[l];
    for (u32 i = 0; i < up->n_runs; i++) {
        const struct detector_run *u = run_at(up, l + 1, i);
        const struct descriptor_loop *k = &u->d.loop[l];
        if (is_expected(x, u, &r->d, l) && k->stride == o->stride &&
            (k->step == o->step || x->rules->unordered))
            return k->count;
    }
    return UINT64_MAX;
}

BY_LEVEL u64 patience(const struct detector *x, u32 l)
{
    return x->rules->unordered ? (l + 1) * PATIENCE * x->rules->window : 0;
}

/* Has its place passed? At higher levels an item comes only when it has ended. */
BY_LEVEL bool has_ended(const struct detector *x, const struct detector_run *r, u32 l)
{
    return r->next_place + r->late + patience(x, l) <= x->place;
}

BY_LEVEL void end_passed(struct detector *x, u32 l)
{
    x->levels[l].changed = false;
    for (u32 i = 0; i < x->levels[l].n_runs;)
        if (has_ended(x, run_at(&x->levels[l], l, i), l))
            end_run(x, l, i);
        else
            i++;
}

/* From the bottom up, so that whatever ended below has come before anybody stops expecting it. */
static void end_some_passed(struct detector *x)
{
    end_passed(x, 0);
    for (u32 l = 1; l < x->n_levels && x->levels[l].changed; l++)
        end_passed(x, l);
}

BY_LEVEL void end_all_passed(struct detector *x)
{
    if (x->levels[0].n_runs || (x->n_levels > 1 && x->levels[1].changed))
        end_some_passed(x);
}

/* Too many runs: the one that is waited for longest ends. */
static void end_oldest(struct detector *x, u32 l)
{
    const struct detector_level *v = &x->levels[l];
    u32 oldest = 0;
    for (u32 i = 1; i < v->n_runs; i++)
        if (run_at(v, l, i)->next_place < run_at(v, l, oldest)->next_place)
            oldest = i;
    end_run(x, l, oldest);
}

/* A run of three items: z, y, and one that comes as far behind y. */
static void begin_run(struct detector *x, u32 l, const struct descriptor *z,
                      const struct descriptor *y, u64 last_place)
{
    struct detector_level *v = &x->levels[l];
    make_room(x, &v->runs, v->n_runs, &v->runs_room, run_size(l));
    struct detector_run *r = run_at(v, l, v->n_runs++);
    struct descriptor_loop *o = &r->d.loop[l];
    memcpy(&r->d, z, descriptor_size(l));
    r->d.depth = l + 1;
    *o = (struct descriptor_loop){LEAST, y->start - z->start, y->place - z->place};
    r->next = z->start + LEAST * o->stride;
    r->next_place = x->rules->unordered ? last_place : z->place + LEAST * o->step;
    r->late = 0;
    for (u32 k = 0; k < l; k++)
        r->late += r->d.loop[k].count * r->d.loop[k].step;
    r->limit = limit_of(x, l, r);
    if (r->limit == LEAST)
        end_run(x, l, v->n_runs - 1);
}

/* -- Keys --------------------------------------------------------------------------------------- */

/* Linear in starts and places; what else must be the same makes it different. */
BY_LEVEL u32 key_of(const struct detector *x, const struct descriptor *d)
{
    return (u32)d->start + (u32)d->place * x->place_weight + d->shape * SHAPE_WEIGHT;
}

/* All of a level. */
struct keys {
    __m128i a, b;
};

BY_LEVEL struct keys load_keys(const struct detector_level *v)
{
    const __m128i *keys = (const __m128i *)v->keys;
    return (struct keys){_mm_loadu_si128(keys), _mm_loadu_si128(keys + 1)};
}

BY_LEVEL void store_keys(struct detector_level *v, struct keys k)
{
    __m128i *keys = (__m128i *)v->keys;
    _mm_storeu_si128(keys, k.a);
    _mm_storeu_si128(keys + 1, k.b);
}

/* One more, the last. */
BY_LEVEL struct keys push_key(struct keys k, u32 key)
{
    return (struct keys){
        _mm_or_si128(_mm_srli_si128(k.a, 4), _mm_slli_si128(k.b, 12)),
        _mm_or_si128(_mm_srli_si128(k.b, 4), _mm_slli_si128(_mm_cvtsi32_si128((int)key), 12))};
}

/* Without the last; the first is of no item. */
BY_LEVEL struct keys pop_key(struct keys k)
{
    return (struct keys){_mm_slli_si128(k.a, 4),
                         _mm_or_si128(_mm_slli_si128(k.b, 4), _mm_srli_si128(k.a, 12))};
}

/* A key for an item in the pool, that has so many behind it. Nearly always there are none: then all are moved at once, since what was stored bit by bit
 * could not be loaded at once soon. */
BY_LEVEL void add_key(struct detector_level *v, u32 key, u32 behind)
{
    if (!behind) {
        store_keys(v, push_key(load_keys(v), key));
        return;
    }
    memmove(v->keys, v->keys + 1, (DETECTOR_FEW - 1 - behind) * sizeof *v->keys);
    v->keys[DETECTOR_FEW - 1 - behind] = key;
}

BY_LEVEL void take_key_out(struct detector_level *v, u32 behind)
{
    if (!behind) {
        store_keys(v, pop_key(load_keys(v)));
        return;
    }
    memmove(v->keys + 1, v->keys, (DETECTOR_FEW - 1 - behind) * sizeof *v->keys);
}

/* Whether an item with this key may be the third of a run. Nearly always it is not. */
BY_LEVEL bool may_be_third(struct keys k, u32 key)
{
    const __m128i d = _mm_set1_epi32((int)key);
    const __m128i first_a = _mm_sub_epi32(_mm_add_epi32(k.a, k.a), d),
                  first_b = _mm_sub_epi32(_mm_add_epi32(k.b, k.b), d);
    __m128i found = _mm_setzero_si128();
#define COMPARE(first, with, lane) found = _mm_or_si128(found, _mm_cmpeq_epi32(first, _mm_shuffle_epi32(with, 0x55 * (lane))))
    COMPARE(first_a, k.a, 0);
    COMPARE(first_a, k.a, 1);
    COMPARE(first_a, k.a, 2);
    COMPARE(first_b, k.a, 0);
    COMPARE(first_b, k.a, 1);
    COMPARE(first_b, k.a, 2);
    COMPARE(first_b, k.a, 3);
    COMPARE(first_b, k.b, 0);
    COMPARE(first_b, k.b, 1);
    COMPARE(first_b, k.b, 2);
#undef COMPARE
    return _mm_movemask_epi8(found);
}

/* -- Pools -------------------------------------------------------------------------------------- */

BY_LEVEL bool is_third(const struct detector_level *v, u32 l, u32 i,
                       const struct descriptor *middle, const struct descriptor *d)
{
    return pooled(v, l, i)->start == 2 * middle->start - d->start && alike(pooled(v, l, i), d, l);
}

/* An item in the pool, before item y, as far from it as y is from d; y itself if there is none. *from has gone down to where places are
 * early enough for the y before, and so for this one. */
BY_LEVEL u32 find_third(const struct detector *x, u32 l, u32 y, const struct descriptor *d,
                        u32 *from)
{
    const struct detector_level *v = &x->levels[l];
    const struct descriptor *middle = pooled(v, l, y);
    const u64 place = 2 * middle->place - d->place;
    u32 i = MIN(*from, y);
    while (i && pooled(v, l, i - 1)->place > place)
        i--;
    *from = i;
    if (!i || pooled(v, l, i - 1)->place != place || !is_third(v, l, i - 1, middle, d))
        return y;
    return i - 1;
}

/* The same, wherever it is in the stream. */
static u32 find_third_anywhere(const struct detector *x, u32 l, u32 y, const struct descriptor *d)
{
    const struct detector_level *v = &x->levels[l];
    for (u32 i = y; i-- > 0;)
        if (is_third(v, l, i, pooled(v, l, y), d))
            return i;
    return y;
}

/* Two items in a pool: the first and the second of three. */
struct pair {
    u32 z, y;
};

/* Three items at even distances are a run. The nearest are tried first. */
BY_LEVEL bool find_pair(const struct detector *x, u32 l, const struct descriptor *d, struct pair *p)
{
    const struct detector_level *v = &x->levels[l];
    const bool unordered = x->rules->unordered;
    for (u32 y = v->n_pool, from = y; y-- > 1;) {
        const u64 middle = pooled(v, l, y)->place;
        if (!unordered && middle + middle < d->place + pooled(v, l, 0)->place)
            break; /* nothing is as early as a third would have to be */
        if (middle >= d->place || !alike(pooled(v, l, y), d, l))
            continue;
        *p = (struct pair){unordered ? find_third_anywhere(x, l, y, d) : find_third(x, l, y, d, &from), y};
        if (p->z != y)
            return true;
    }
    return false;
}

BY_LEVEL void take_from_pool(struct detector *x, u32 l, u32 i, struct descriptor *to)
{
    struct detector_level *v = &x->levels[l];
    memcpy(to, pooled(v, l, i), descriptor_size(l));
    take_out((u8 *)pooled(v, l, 0), &v->n_pool, i, descriptor_size(l));
    if (x->few)
        take_key_out(v, v->n_pool - i);
}

BY_LEVEL bool pair_up(struct detector *x, u32 l, const struct descriptor *d, u32 key)
{
    struct detector_level *v = &x->levels[l];
    union any_descriptor first, second;
    struct pair p;
    if ((x->few && !may_be_third(load_keys(v), key)) || !find_pair(x, l, d, &p))
        return false;
    take_from_pool(x, l, p.y, &second.d);
    take_from_pool(x, l, p.z, &first.d);
    if (v->n_runs == x->rules->window)
        end_oldest(x, l);
    begin_run(x, l, &first.d, &second.d, d->place);
    return true;
}

/* The pool wanders through its array, and begins anew when it comes to the end; of an array that is so long that this is seldom. */
BY_LEVEL void make_pool_room(struct detector *x, u32 l)
{
    struct detector_level *v = &x->levels[l];
    if (v->pool_first && v->pool_first >= v->pool_room / 2 && v->pool_first + v->n_pool == v->pool_room) {
        memmove(v->pool, pooled(v, l, 0), v->n_pool * descriptor_size(l));
        v->pool_first = 0;
    }
    make_room(x, &v->pool, v->pool_first + v->n_pool, &v->pool_room, descriptor_size(l));
}

BY_LEVEL void wait_in_pool(struct detector *x, u32 l, const struct descriptor *d, u32 key)
{
    struct detector_level *v = &x->levels[l];
    const size_t size = descriptor_size(l);
    if (v->n_pool == x->rules->window) {
        x->rules->done(x->to, pooled(v, l, 0));
        v->pool_first++;
        v->n_pool--;
    }
    make_pool_room(x, l);
    u32 at = v->n_pool++;
    for (; l && at && pooled(v, l, at - 1)->place > d->place; at--) /* references come by place */
        memcpy(pooled(v, l, at), pooled(v, l, at - 1), size);
    memcpy(pooled(v, l, at), d, size);
    if (x->few)
        add_key(v, key, v->n_pool - 1 - at);
}

BY_LEVEL void put_item_of(struct detector *x, u32 l, const struct descriptor *d)
{
    const u32 key = key_of(x, d);
    reach_level(x, l)->changed = true;
    if (!join_run(x, l, d) && !pair_up(x, l, d, key))
        wait_in_pool(x, l, d, key);
}

static void put_item(struct detector *x, u32 l, const struct descriptor *d)
{
    if (l > 1)
        put_item_of(x, l, d);
    else
        put_item_of(x, 1, d);
}

/* -- References --------------------------------------------------------------------------------- */

/* Whether it was expected. */
BY_LEVEL bool put_one(struct detector *x, u64 address, u32 type, u32 source)
{
    const struct descriptor d = {.start = address, .place = x->place, .type = type, .source = source, .shape = type};
    reach_level(x, 0);
    const bool expected = join_run(x, 0, &d);
    if (!expected) {
        const u32 key = key_of(x, &d);
        end_all_passed(x);
        if (!pair_up(x, 0, &d, key))
            wait_in_pool(x, 0, &d, key);
    }
    x->place++;
    return expected;
}

void detector_put(struct detector *x, u64 address, u32 type, u32 source)
{
    put_one(x, address, type, source);
}

/* As many as go on with the only run there is. */
static size_t go_on_alone(struct detector *x, const u64 *address, size_t n, size_t every)
{
    if (x->levels[0].n_runs != 1)
        return 0;
    struct detector_run *r = run_at(x->levels, 0, 0);
    struct descriptor_loop *o = &r->d.loop[0];
    if (o->step != 1 || r->next_place != x->place || r->d.type || x->rules->unordered)
        return 0;
    u64 next = r->next, stride = o->stride;
    size_t i = 0, room = MIN(n, r->limit - o->count - 1); /* the last is for detector_put */
    for (; i < room && address[i * every] == next; i++)
        next += stride;
    o->count += i;
    r->next = next;
    r->next_place += i;
    x->place += i;
    return i;
}

/* Of the next n references, how many come before any that a run expects. Nobody waits to be looked at above them either. */
static size_t quiet_for(const struct detector *x, size_t n)
{
    const struct detector_level *v = x->levels;
    if (!x->few || x->rules->unordered || (x->n_levels > 1 && x->levels[1].changed))
        return 0;
    for (u32 i = 0; i < v->n_runs; i++) {
        const u64 next = run_at(v, 0, i)->next_place;
        n = next > x->place ? MIN(n, next - x->place) : 0;
    }
    return n;
}

/* Let the next n references through the pool: as many are done. */
static void flow_through(struct detector *x, const u64 *address, size_t n, size_t every)
{
    struct detector_level *v = x->levels;
    const size_t all = v->n_pool + n, done = all > x->rules->window ? all - x->rules->window : 0,
                 old = MIN(done, v->n_pool);
    for (u32 i = 0; i < old; i++)
        x->rules->done(x->to, pooled(v, 0, i));
    v->pool_first += (u32)old;
    v->n_pool -= (u32)old;
    if (done > old)
        x->rules->done_ones(x->to, x->place, address, done - old, every);
    for (size_t i = done - old; i < n; i++) {
        make_pool_room(x, 0);
        *pooled(v, 0, v->n_pool++) =
            (struct descriptor){.start = address[i * every], .place = x->place + i};
    }
}

/* Of the next n references, as many as begin no run: none is the third of one. The keys become theirs. */
static size_t pass_keys(struct detector_level *v, const u64 *address, size_t n, size_t every,
                        u32 of_place, u32 weight)
{
    struct keys keys = load_keys(v);
    size_t i = 0;
    for (; i < n; i++, of_place += weight) {
        const u32 key = (u32)address[i * every] + of_place;
        if (may_be_third(keys, key))
            break;
        keys = push_key(keys, key);
    }
    store_keys(v, keys);
    return i;
}

/* As many as go on with no run and begin none. */
static size_t pass_by(struct detector *x, const u64 *address, size_t n, size_t every)
{
    const u32 weight = x->place_weight, of_place = (u32)x->place * weight;
    n = quiet_for(x, n);
    n = n ? pass_keys(x->levels, address, n, every, of_place, weight) : 0;
    if (n)
        flow_through(x, address, n, every);
    x->place += n;
    return n;
}

void detector_put_all(struct detector *x, const u64 *address, size_t n, size_t every)
{
    for (size_t i = 0; i < n;) {
        const bool expected = put_one(x, address[i++ * every], 0, 0);
        i += (expected ? go_on_alone : pass_by)(x, address + i * every, n - i, every);
    }
}

static void fetch(const void *from, size_t n)
{
    for (const u8 *line = from; line < (const u8 *)from + n; line += 64)
        __builtin_prefetch(line, 1);
}

void detector_fetch(const struct detector *x, u32 step)
{
    if (step == 1)
        fetch(x->levels, x->n_levels * sizeof *x->levels);
    for (u32 l = 0; step == 2 && l < x->n_levels; l++) {
        const struct detector_level *v = &x->levels[l];
        fetch(pooled(v, l, 0), v->n_pool * descriptor_size(l));
        fetch(v->runs, v->n_runs * run_size(l));
    }
}

void detector_end(struct detector *x)
{
    for (u32 l = 0; l < x->n_levels; l++) {
        while (x->levels[l].n_runs)
            end_run(x, l, 0);
        for (u32 i = 0; i < x->levels[l].n_pool; i++)
            x->rules->done(x->to, pooled(&x->levels[l], l, i));
        x->levels[l].n_pool = 0;
    }
}
