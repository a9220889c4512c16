/* SPDX-License-Identifier: MIT */
/* Hierarchies in which lines only come down as they are missed, and only go up as they are evicted dirty: a level may see a whole list of touches before the next
 * one sees any. So the sets that it will need are known early, and are fetched early: nearly all of the time went to waiting for them.
 *
 * A list has lines with their owners. In those of the first level LINE_DIRTY says that the line is written, in the others that it is not asked for, but given: it
 * comes from the level before, and hits nothing and misses nothing. Where lines are written, they are of one length (shape.c). */
#include "analyze/cache_vector.h"
#include "analyze/hierarchy.h"

_Static_assert(TOUCH_WRITTEN == LINE_DIRTY, "touches become lines");

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
        if (c->prefetch || c->bypassed || c->inclusion != INCLUSION_neither || c->writing == WRITING_through)
            return false;
    }
    return true;
}

/* A level, as one side sees it. */
struct level {
    struct cache *cache;
    u32 log2, above; /* of its lines' size, and of those of the level before it */
    bool is_first, is_private;
    u64 *writebacks;
};

/* What of an evicted line's state goes on with it. */
#define LINE_GIVEN (LINE_DIRTY | LINE_SHARED)

/* -- Any cache ---------------------------------------------------------------------------------- */

static void see_line(const struct level *c, const struct touch *x, u64 line, struct touch_list *to)
{
    const u64 state = line & LINE_STATE;
    const bool is_given = state && !c->is_first;
    u64 *there = is_given ? cache_peek(c->cache, line & ~LINE_STATE) : cache_find(c->cache, line & ~LINE_STATE);
    if (there) {
        *there |= state & LINE_DIRTY;
        return;
    }
    const u64 old = cache_put(c->cache, c->is_private ? line : line & ~LINE_SHARED);
    if (!is_given)
        vec_push(&to->v, ((struct touch){{line & ~LINE_STATE}, x->id, {x->at}}));
    if (!(old & LINE_DIRTY))
        return;
    ++*c->writebacks;
    vec_push(&to->v, ((struct touch){{old & (~LINE_STATE | LINE_GIVEN)}, x->id, {x->at}}));
}

static void fetch(const struct level *c, u64 line)
{
    u64 at = line << c->above >> c->log2;
    __builtin_prefetch(c->cache->lines + cache_set_of(c->cache, at) * c->cache->stride);
}

/* The caches of both sides may be one. */
static void see_any(const struct level levels[SIDES], u64 owner, const struct touch_list *from, struct touch_list *to)
{
    const struct touch *x = from->v.v, *last = x + from->v.n;
    for (; x < last; x++) {
        if (x + AHEAD < last)
            fetch(&levels[x[AHEAD].id / TOUCH_CODE], x[AHEAD].line & LINE_NUMBER);
        const struct level *c = &levels[x->id / TOUCH_CODE];
        if (c->log2 == c->above) {
            see_line(c, x, x->line | owner, to);
            continue;
        }
        const u64 start = (x->line & LINE_NUMBER) << c->above, end = start + (1ull << c->above);
        for (u64 line = start >> c->log2; line <= (end - 1) >> c->log2; line++)
            see_line(c, x, line | (x->line & ~LINE_NUMBER) | owner, to);
    }
}

/* -- Sets that are vectors ---------------------------------------------------------------------- */

/* A set, the latest line first. What follows is done in masks and vectors alone, as the next line may be of the same set: its turn comes when this one's is over. */
struct set {
    __m512i low, high; /* the latter, and the upper half of masks, only of two vectors */
};

#define INLINE_VECTOR static inline __attribute__((always_inline)) VECTOR

/* Of each line, whether it is this one; `state` is whether lines have one. */
INLINE_VECTOR __mmask16 find(struct set s, __m512i line, u32 vectors, bool state)
{
    const __m512i rest = _mm512_set1_epi64((s64)~LINE_STATE);
    const __mmask8 low = _mm512_cmpeq_epi64_mask(state ? _mm512_and_si512(s.low, rest) : s.low, line);
    if (vectors == 1)
        return low;
    return _mm512_kunpackb(_mm512_cmpeq_epi64_mask(state ? _mm512_and_si512(s.high, rest) : s.high, line), low);
}

/* The line as it was found, or as it is: in the first place. */
INLINE_VECTOR __m512i found_or(struct set s, __mmask16 found, u32 vectors, __m512i line)
{
    line = _mm512_mask_compress_epi64(line, (__mmask8)found, s.low);
    return vectors == 1 ? line : _mm512_mask_compress_epi64(line, (__mmask8)_kshiftri_mask16(found, 8), s.high);
}

/* A line goes in front, and those that are said to move are one place further. */
INLINE_VECTOR struct set moved_on(struct set s, __mmask16 moved, u32 vectors, __m512i front)
{
    const __m512i one_further = _mm512_set_epi64(6, 5, 4, 3, 2, 1, 0, 8), last_first = _mm512_set_epi64(6, 5, 4, 3, 2, 1, 0, 15);
    const __m512i low = s.low;
    s.low = _mm512_mask_permutex2var_epi64(low, (__mmask8)moved, one_further, front);
    if (vectors == 2)
        s.high = _mm512_mask_permutex2var_epi64(s.high, (__mmask8)_kshiftri_mask16(moved, 8), last_first, low);
    return s;
}

/* No branch depends on whether a line is there. Whether or not, it is in front then, but for one that is given and there. */
INLINE_VECTOR void see_vectors(const struct level *level, u64 owner, const struct touch_list *from, struct touch_list *to, u32 vectors, bool is_first, bool writes)
{
    const struct cache *c = level->cache;
    const u64 mask = c->sets - 1, kept = level->is_private ? ~0ull : ~LINE_SHARED;
    const u32 last_way = c->ways - 1, stride = vectors * CACHE_VECTOR_WAYS;
    const __mmask16 ways = (__mmask16)((1u << c->ways) - 1), none = 0xffff;
    struct touch *missed = vec_grow(&to->v, (writes ? 2 : 1) * from->v.n);
    u64 *before = NULL, writebacks = 0;
    struct set s = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    for (const struct touch *x = from->v.v, *end = x + from->v.n; x < end; x++) {
        const u64 word = x->line | owner, line = writes ? word & ~LINE_STATE : word;
        const bool is_given = writes && !is_first && word & LINE_DIRTY;
        u64 *set = c->lines + (line & mask) * stride;
        if (!is_first && x + AHEAD < end) {
            const u64 *ahead = c->lines + (x[AHEAD].line & mask) * stride;
            __builtin_prefetch(ahead);
            if (vectors == 2)
                __builtin_prefetch(ahead + CACHE_VECTOR_WAYS);
        }
        if (set != before) { /* else its store is under way, and a load would wait for that */
            s.low = _mm512_load_si512(set);
            if (vectors == 2)
                s.high = _mm512_load_si512(set + CACHE_VECTOR_WAYS);
        }
        before = set;
        const u64 old = writes ? set[last_way] : 0;
        const __mmask16 found = find(s, _mm512_set1_epi64((s64)line), vectors, writes);
        /* Those up to where it was, or all of them. */
        __mmask16 moved = _kand_mask16(_kxor_mask16(found, _kadd_mask16(found, none)), ways);
        __m512i front = _mm512_set1_epi64((s64)(writes ? word & kept : line));
        if (writes && is_first)
            front = _mm512_or_si512(found_or(s, found, vectors, front), _mm512_set1_epi64((s64)(word & LINE_DIRTY)));
        else if (writes)
            front = found_or(s, found, vectors, front);
        if (is_given && found) {
            s.low = _mm512_mask_or_epi64(s.low, (__mmask8)found, s.low, _mm512_set1_epi64((s64)LINE_DIRTY));
            if (vectors == 2)
                s.high = _mm512_mask_or_epi64(s.high, (__mmask8)(found >> 8), s.high, _mm512_set1_epi64((s64)LINE_DIRTY));
            moved = 0;
        }
        s = moved_on(s, moved, vectors, front);
        _mm512_store_si512(set, s.low);
        if (vectors == 2)
            _mm512_store_si512(set + CACHE_VECTOR_WAYS, s.high);
        *missed = (struct touch){{line}, x->id, {x->at}};
        missed += !found && !is_given;
        if (writes) {
            const bool goes = !found && old >> 63;
            *missed = (struct touch){{old & (~LINE_STATE | LINE_GIVEN)}, x->id, {x->at}};
            missed += goes;
            writebacks += goes;
        }
    }
    to->v.n = (size_t)(missed - to->v.v);
    *level->writebacks += writebacks;
}

#define SEE(name, vectors, is_first, writes)                                                                                                        \
    static VECTOR void name(const struct level *level, u64 owner, const struct touch_list *from, struct touch_list *to)                             \
    {                                                                                                                                               \
        see_vectors(level, owner, from, to, vectors, is_first, writes);                                                                             \
    }
SEE(first_of_one, 1, true, false)
SEE(first_of_one_written, 1, true, true)
SEE(first_of_two, 2, true, false)
SEE(first_of_two_written, 2, true, true)
SEE(next_of_one, 1, false, false)
SEE(next_of_one_written, 1, false, true)
SEE(next_of_two, 2, false, false)
SEE(next_of_two_written, 2, false, true)

/* -- All levels --------------------------------------------------------------------------------- */

/* What a level misses, and what it evicts dirty. */
static void see(const struct level levels[SIDES], bool writes, u64 owner, const struct touch_list *from, struct touch_list *to)
{
    static void (*const ways[2][2][2])(const struct level *, u64, const struct touch_list *, struct touch_list *) = {
        {{next_of_one, next_of_one_written}, {next_of_two, next_of_two_written}},
        {{first_of_one, first_of_one_written}, {first_of_two, first_of_two_written}},
    };
    const struct level *data = &levels[SIDE_data], *code = &levels[SIDE_code];
    const bool is_one = data->cache == code->cache && data->cache->vectors && !(data->cache->sets & (data->cache->sets - 1)) && data->log2 == data->above && code->log2 == code->above;
    to->v.n = 0;
    if (is_one)
        ways[data->is_first][data->cache->vectors - 1][writes](data, owner, from, to);
    else
        see_any(levels, owner, from, to);
}

/* Two lists in the order of their places become one. */
static void merge(const struct touch_list from[TOUCH_SIDES], struct touch_list *to)
{
    const struct touch *x = from[0].v.v, *y = from[1].v.v, *x_end = x + from[0].v.n, *y_end = y + from[1].v.n;
    to->v.n = 0;
    struct touch *at = vec_grow(&to->v, from[0].v.n + from[1].v.n);
    while (x < x_end && y < y_end)
        *at++ = touch_is_before(x, y) ? *x++ : *y++;
    while (x < x_end)
        *at++ = *x++;
    while (y < y_end)
        *at++ = *y++;
}

/* An event misses once, however many of its lines do. */
static void count(const struct touch_list *list, u32 level, struct tally *t,
                  struct crossing *crossings)
{
    const struct touch *x = list->v.v, *end = x + list->v.n, *before = NULL;
    for (; x < end; x++) {
        if (x->line & LINE_DIRTY)
            continue;
        const bool goes_on = before && touch_goes_on(x, before);
        before = x;
        if (goes_on)
            continue;
        if (x->at & TOUCH_CROSSING)
            hierarchy_count(t, x, crossings, 1u << level);
        else
            tally_add(t, x->id, level);
    }
}

static struct level level_of(const struct hierarchy *h, struct hierarchy_part *part, const struct core *core, enum side side, u32 level)
{
    const struct shape *s = h->shape;
    const u32 i = s->path[side][level];
    const struct cache_shape *above = &s->cache[s->path[side][level ? level - 1 : 0]];
    return (struct level){core->cache[i], (u32)__builtin_ctz(s->cache[i].line), (u32)__builtin_ctz(above->line), level == 0, s->cache[i].is_private,
                          &part->stats[i].writebacks};
}

void cascade_take(struct hierarchy *h, struct hierarchy_part *part, struct core *core,
                  struct tally *t, const struct touch_list *const touches[TOUCH_SIDES], struct crossing *crossings)
{
    static const enum side side_of[TOUCH_SIDES] = {[TOUCH_OF_CODE] = SIDE_code, [TOUCH_OF_DATA] = SIDE_data};
    const struct shape *s = h->shape;
    const bool writes = s->cache[0].writing == WRITING_back;
    struct touch_list *list = part->missed;
    for (u32 k = 0; k < TOUCH_SIDES; k++) {
        const struct level first = level_of(h, part, core, side_of[k], 0);
        const struct level both[SIDES] = {first, first};
        see(both, writes && side_of[k] == SIDE_data, t->owner, touches[k], &part->first[k]);
    }
    merge(part->first, &list[0]);
    count(&list[0], 0, t, crossings);
    for (u32 level = 1; level < s->n_levels; level++) {
        const struct level next[SIDES] = {level_of(h, part, core, SIDE_data, level), level_of(h, part, core, SIDE_code, level)};
        see(next, writes, 0, &list[(level + 1) % 2], &list[level % 2]);
        count(&list[level % 2], level, t, crossings);
    }
}
