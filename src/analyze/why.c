/* SPDX-License-Identifier: MIT */
/* Lines, points and places, as the watched cache is used. */
#include "analyze/why.h"
#include "analyze/cache.h"
#include "analyze/sharing.h"
#include "analyze/touches.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 1024, PAIRS = 1 << 19, UNNAMED = 1 << 16, UNNAMED_LOG2 = 4 /* of the bytes of such a place */ };

/* What is so of a line. */
enum {
    LINE_known = 1, /* it was brought in on demand before */
    LINE_taken = 2, /* another core, or a cache behind, took it away */
    LINE_listed = 4 /* a fully associative cache would have it */
};

void why_init(struct why *w, const struct shape *s, u32 cache)
{
    const struct cache_shape *c = &s->cache[cache];
    *w = (struct why){.hierarchy = s,
                      .shape = *c,
                      .cache = cache,
                      .capacity = c->size / c->line,
                      .numbers = {.counts = 1, .limit = SIZE_MAX},
                      .pairs = {.counts = 1, .limit = PAIRS},
                      .places = {.counts = WHY_COUNTS, .limit = SIZE_MAX},
                      .place_pairs = {.counts = 1, .limit = PAIRS},
                      .unnamed_numbers = {.counts = 1, .limit = UNNAMED}};
    for (u32 side = 0; side < SIDES; side++)
        for (u32 k = 0; k < s->n_levels; k++)
            if (s->path[side][k] == cache) {
                w->takes[side] = true;
                w->level = k;
            }
    vec_push(&w->points, (struct why_point){0});
}

void why_fini(struct why *w)
{
    for (u32 i = 0; i < SHAPE_CORES; i++) {
        vec_fini(&w->core[i].lines);
        free(w->core[i].slots);
    }
    vec_fini(&w->points);
    ledger_fini(&w->numbers);
    ledger_fini(&w->pairs);
    ledger_fini(&w->places);
    ledger_fini(&w->place_pairs);
    vec_fini(&w->unnamed);
    ledger_fini(&w->unnamed_numbers);
}

/* -- Lines -------------------------------------------------------------------------------------- */

static struct why_cache *cache_of(struct why *w, u32 core)
{
    return &w->core[w->shape.is_private ? core : 0];
}

static u32 *slot_of(const struct why_cache *c, u64 line)
{
    for (u64 i = (line >> 4) * 0x9e3779b97f4a7c15ull >> 32 << 4 | (line & 15);; i++) {
        u32 *slot = &c->slots[i & (c->n_slots - 1)];
        if (!*slot || c->lines.v[*slot].line == line)
            return slot;
    }
}

static void double_slots(struct why_cache *c)
{
    free(c->slots);
    c->n_slots = c->n_slots ? 2 * c->n_slots : FIRST_SLOTS;
    c->slots = zeros(c->n_slots, sizeof *c->slots);
    if (!c->lines.n)
        vec_push(&c->lines, (struct why_line){0});
    for (size_t i = 1; i < c->lines.n; i++)
        *slot_of(c, c->lines.v[i].line) = (u32)i;
}

/* Valid until the next one. */
static struct why_line *line_of(struct why_cache *c, u64 line)
{
    if (c->latest && c->lines.v[c->latest].line == line)
        return &c->lines.v[c->latest];
    if (2 * c->lines.n >= c->n_slots)
        double_slots(c);
    u32 *slot = slot_of(c, line);
    if (!*slot) {
        *slot = (u32)c->lines.n;
        vec_push(&c->lines, (struct why_line){.line = line});
    }
    c->latest = *slot;
    return &c->lines.v[*slot];
}

/* -- The fully associative cache ---------------------------------------------------------------- */

static void unlist(struct why_cache *c, struct why_line *x)
{
    c->lines.v[x->newer].older = x->older;
    c->lines.v[x->older].newer = x->newer;
    x->flags &= ~(u32)LINE_listed;
    c->listed--;
}

static void list_first(struct why_cache *c, struct why_line *x)
{
    struct why_line *ends = &c->lines.v[0];
    x->newer = 0;
    x->older = ends->older;
    c->lines.v[ends->older].newer = (u32)(x - c->lines.v);
    ends->older = (u32)(x - c->lines.v);
    x->flags |= LINE_listed;
    c->listed++;
}

/* It is asked for the line too. */
static void list_ask(const struct why *w, struct why_cache *c, struct why_line *x, bool brings)
{
    if (x->flags & LINE_listed)
        unlist(c, x);
    else if (!brings)
        return;
    if (c->listed == w->capacity)
        unlist(c, &c->lines.v[c->lines.v[0].newer]);
    list_first(c, x);
}

/* -- Counts ------------------------------------------------------------------------------------- */

static enum point_kind kind_of(const struct tally *t, u32 id)
{
    if (id & TOUCH_CODE)
        return POINT_fetch;
    return t->table->refs.v[id].kind == REF_STORE ? POINT_write : POINT_read;
}

static struct tally_point *known_of(const struct why_touch *t)
{
    const u32 at = t->id & ~TOUCH_CODE;
    vec_reach(&t->tally->points[t->id / TOUCH_CODE], at);
    return &t->tally->points[t->id / TOUCH_CODE].v[at];
}

/* The point of an instruction or reference. In the unit table it is once for each path; all of them are one point. */
static u32 point_of(struct why *w, const struct why_touch *t)
{
    struct tally_point *known = known_of(t);
    if (known->point)
        return known->point;
    const struct why_point x = {.process = t->tally->number,
                                .pc = tally_pc(t->tally, t->id),
                                .kind = kind_of(t->tally, t->id),
                                .lowest = UINT64_MAX};
    u64 *number = ledger_row(&w->numbers, (u64)x.process << 2 | x.kind, x.pc);
    if (!*number) {
        *number = w->points.n;
        vec_push(&w->points, x);
    }
    return known->point = (u32)*number;
}

/* Where a line begins; and the first byte of it that a touch wants, if it is that line. */
static u64 start_of(const struct why *w, u64 line)
{
    return (line & LINE_NUMBER) * w->shape.line;
}

static bool is_of_owner(const struct why_touch *t, u64 line)
{
    return line >> 44 << 44 == t->tally->owner;
}

static bool wants(const struct why *w, const struct why_touch *t, u64 line)
{
    const u64 start = start_of(w, line);
    return is_of_owner(t, line) && t->address + t->size > start && t->address < start + w->shape.line;
}

static u64 wanted_of(const struct why *w, const struct why_touch *t, u64 line)
{
    const u64 start = start_of(w, line);
    return wants(w, t, line) ? MAX(t->address, start) : start;
}

/* Which bytes of a line a touch wants. */
static u64 bytes_of(const struct why *w, const struct why_touch *t, u64 line)
{
    const u64 start = start_of(w, line), from = MAX(t->address, start),
              to = MIN(t->address + t->size, start + w->shape.line);
    return from < to ? sharing_bytes(w->shape.line, from, to - from) : 0;
}

static void count(struct why *w, u32 point, u32 place, enum why_count what, u64 n)
{
    w->total[what] += n;
    w->points.v[point].count[what] += n;
    ledger_row(&w->places, place, 0)[what] += n;
}

/* -- Places ------------------------------------------------------------------------------------- */

/* The place of something at an address of which little is known; as long as there is room, its own. */
static u32 place_of(struct why *w, const struct why_touch *t, u64 address, u32 number)
{
    if (!variables_is_vague(w->part, number))
        return number + 1;
    u64 *known = ledger_row(&w->unnamed_numbers, t->tally->number, (address >> UNNAMED_LOG2) + 1);
    if (!*known && w->unnamed.n < UNNAMED) {
        vec_push(&w->unnamed, ((struct unnamed){.process = t->tally->number, .address = address}));
        *known = w->unnamed.n;
    }
    return *known ? PLACE_UNNAMED | (u32)(*known - 1) : number + 1;
}

/* What the touch comes to. Most come to what the last one of the same instruction came to. */
static u32 touched_place(struct why *w, const struct why_touch *t, u64 address)
{
    struct tally_point *known = known_of(t);
    const u64 change = *variables_change(w->part) + 1;
    if (known->change == change && address - known->latest.start < known->latest.end - known->latest.start)
        return known->place;
    known->latest = variables_stretch(w->part, address, t->id & TOUCH_CODE ? VARIABLE_NO_REF : t->id);
    known->place = place_of(w, t, address, known->latest.number);
    known->change = known->latest.moves ? 0 : change;
    if (variables_is_vague(w->part, known->latest.number)) { /* its neighbours are other places */
        const u64 start = address >> UNNAMED_LOG2 << UNNAMED_LOG2;
        known->latest.start = MAX(known->latest.start, start);
        known->latest.end = MIN(known->latest.end, start + (1 << UNNAMED_LOG2));
    }
    return known->place;
}

/* What a line is put in for: if the touch does not want it, for what is at its beginning. Of other processes' lines, that is what it was before. */
static u32 place_in(struct why *w, const struct why_touch *t, u64 line)
{
    const u64 start = start_of(w, line);
    if (wants(w, t, line))
        return touched_place(w, t, MAX(t->address, start));
    if (is_of_owner(t, line))
        return place_of(w, t, start, variables_at(w->part, start, VARIABLE_NO_REF));
    const u32 place = line_of(cache_of(w, t->core), line)->place;
    return place ? place : VARIABLE_OTHER + 1;
}

/* A point has come to a place. */
static void add_place(struct why_point *p, u32 place)
{
    if (place & PLACE_UNNAMED) {
        p->unnamed[p->unnamed[0] != 0] = place;
        return;
    }
    for (u32 i = 0; i < POINT_DATA; i++)
        if (!p->data[i] || p->data[i] == place) {
            p->data[i] = place;
            return;
        }
    p->has_more = true;
}

void why_begin(struct why *w, struct variable_part *p, const struct touch *list, struct why_times times)
{
    w->part = p;
    w->list = w->now = list;
    w->refs = 0;
    w->times = times;
}

void why_end(struct why *w, const struct tally *t, struct variable_part *p)
{
    feeders_find(w, t);
    for (size_t i = 0; i < w->unnamed.n; i++) {
        struct unnamed *x = &w->unnamed.v[i];
        if (x->process == t->number)
            x->number = variables_late(p, x->address);
    }
}

u32 why_variable(const struct why *w, u32 place)
{
    return place & PLACE_UNNAMED ? w->unnamed.v[place & ~PLACE_UNNAMED].number : place - 1;
}

/* -- What happens ------------------------------------------------------------------------------- */

static enum why_count class_of(const struct why_line *x)
{
    if (!(x->flags & LINE_known))
        return WHY_cold;
    if (x->flags & LINE_taken)
        return WHY_taken;
    return x->flags & LINE_listed ? WHY_conflict : WHY_capacity;
}

void why_ask(struct why *w, const struct why_touch *t, u64 line, bool hit, bool brings)
{
    struct why_cache *c = cache_of(w, t->core);
    struct why_line *x = line_of(c, line);
    const u32 point = point_of(w, t);
    const u64 wanted = wanted_of(w, t, line);
    const u32 place = place_in(w, t, line);
    struct why_point *p = &w->points.v[point];
    add_place(p, place);
    p->lowest = MIN(p->lowest, wanted);
    p->highest = MAX(p->highest, wanted);
    if (hit) {
        const u64 bytes = bytes_of(w, t, line);
        count(w, point, place, WHY_hits, 1);
        if (bytes && !(bytes & ~x->used))
            count(w, point, place, WHY_temporal, 1);
    } else {
        count(w, point, place, class_of(x), 1);
    }
    list_ask(w, c, x, brings);
    if (brings)
        x->flags |= LINE_known;
}

/* A line has gone for one that a point brought in, because it wanted something at a place. */
static void evict(struct why *w, const struct why_line *x, u32 point, u32 place)
{
    const u64 grain = MAX(w->shape.line / 64, 1u);
    count(w, x->filler, x->place, WHY_evictions, 1);
    count(w, x->filler, x->place, WHY_used, grain * (u64)__builtin_popcountll(x->used));
    ++*ledger_row(&w->pairs, x->filler, point);
    ++*ledger_row(&w->place_pairs, x->place, place);
}

void why_put(struct why *w, const struct why_touch *t, u64 line, u64 old)
{
    struct why_cache *c = cache_of(w, t->core);
    const u32 point = point_of(w, t);
    const u32 place = place_in(w, t, line);
    if (old)
        evict(w, line_of(c, old), point, place);
    struct why_line *x = line_of(c, line);
    x->filler = point;
    x->place = place;
    x->used = 0;
    x->flags &= ~(u32)LINE_taken;
}

void why_take(struct why *w, u32 core, u64 line)
{
    struct why_cache *c = cache_of(w, core);
    struct why_line *x = line_of(c, line);
    if (x->flags & LINE_listed)
        unlist(c, x);
    x->flags |= LINE_taken;
}

static u64 common_divisor(u64 a, u64 b)
{
    while (b) {
        const u64 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A step was made that is the one of most, as far as is known. */
static void time_step(struct why_walk *x, u32 thread, u64 now)
{
    if (x->thread != thread)
        return;
    x->timed++;
    x->insns += now - x->when;
}

/* Which step most touches make, by vote: one that more than half of them make wins. */
static void walk(struct why_walk *x, const struct why_touch *t, u32 thread, u64 now)
{
    const s64 step = (s64)(t->address - x->latest);
    x->latest = t->address;
    x->size = MAX(x->size, (u32)t->size);
    if (!x->touches++)
        return;
    if (step && (!x->grid || step % (s64)x->grid))
        x->grid = common_divisor(x->grid, (u64)llabs(step));
    if (step == x->step) {
        x->votes++;
        x->seen++;
        time_step(x, thread, now);
    } else if (x->votes) {
        x->votes--;
    } else {
        x->step = step;
        x->votes = x->seen = 1;
        x->timed = x->insns = 0;
        time_step(x, thread, now);
    }
}

/* A touch, unless it is of code. */
static void time_walk(const struct why *w, struct why_walk *x, const struct why_touch *t)
{
    const u64 now = t->id & TOUCH_CODE ? 0 : w->times.before + w->times.v[w->now - w->list];
    walk(x, t, w->times.thread, now);
    x->thread = w->times.thread;
    x->when = now;
}

void why_use(struct why *w, const struct why_touch *t, u32 missed)
{
    const u32 point = point_of(w, t);
    struct why_point *p = &w->points.v[point];
    time_walk(w, &p->walk, t);
    if (missed >> w->level & 1) {
        u32 level = w->level + 1;
        while (missed >> level & 1)
            level++;
        p->found[level]++;
    }
    const u64 first = t->address / w->shape.line, last = (t->address + t->size - 1) / w->shape.line;
    for (u64 n = first; n <= last; n++) {
        const u64 line = n | t->tally->owner;
        line_of(cache_of(w, t->core), line)->used |= bytes_of(w, t, line);
    }
}
