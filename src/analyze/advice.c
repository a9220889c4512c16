/* SPDX-License-Identifier: MIT */
/* What is known to help against misses, where the figures are such as it helps against. Whether the program would still compute the
 * same is for its author to say. */
#include "analyze/why.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum remedy { REMEDY_interchange, REMEDY_tile, REMEDY_pad, REMEDY_apart, REMEDY_split, REMEDY_prefetch, REMEDY_index };
static const char *const remedy_words[] = {
    [REMEDY_interchange] = "interchange loops",
    [REMEDY_tile] = "tile loops",
    [REMEDY_pad] = "make rows longer",
    [REMEDY_apart] = "move data apart",
    [REMEDY_split] = "split hot and cold fields",
    [REMEDY_prefetch] = "prefetch",
    [REMEDY_index] = "prefetch by index",
};

/* Points that have less of all misses get no advice; a share that is more than the half of something is most of it. */
enum { LEAST_PERCENT = 1, LEAST_PERCENT_AT_RANDOM = 10, FEW_LINES = 8, LARGEST_RECORD = 4096, TEXT_ROOM = 480 };
static bool is_most(u64 n, u64 of)
{
    return 2 * n > of;
}

/* What to do about a row, and why. */
struct advice {
    enum remedy remedy;
    u32 row;
    u64 misses, heaviest; /* of all its points, and of that which the text is about */
    char text[TEXT_ROOM];
};

struct advisor {
    const struct why *why;
    const struct point_rows *rows;
    VEC(struct advice) advice;
};

/* -- Evidence ----------------------------------------------------------------------------------- */

/* The bytes from one touch to the next, if most are that. */
static u64 step_of(const struct why_point *p)
{
    return is_most(p->walk.seen, p->walk.touches) ? (u64)llabs(p->walk.step) : 0;
}

static const char *plural(u64 n)
{
    return n == 1 ? "" : "s";
}

static double percent(u64 n, u64 of)
{
    return of ? 100.0 * (double)n / (double)of : 0.0;
}

static double use_of(const struct why *w, const struct why_point *p)
{
    return percent(p->count[WHY_used], p->count[WHY_evictions] * w->shape.line);
}

/* Less than half of the bytes are used. */
static bool is_wasteful(const struct why *w, const struct why_point *p)
{
    return p->count[WHY_evictions] && use_of(w, p) < 50.0;
}

/* Lines from the first to the last that it asked for. */
static u64 lines_of(const struct why *w, const struct why_point *p)
{
    return p->lowest > p->highest ? 0 : p->highest / w->shape.line - p->lowest / w->shape.line + 1;
}

/* How many sets are met by steps of so many lines. */
static u64 sets_met(u64 sets, u64 lines)
{
    u64 a = sets, b = lines % sets;
    while (b) {
        const u64 rest = a % b;
        a = b;
        b = rest;
    }
    return sets / a;
}

/* Which point evicts most of its lines. */
static u32 evictor_of(const struct why *w, u32 point, u64 *count)
{
    u32 found = 0;
    *count = 0;
    for (size_t i = 0; i < ledger_rows(&w->pairs); i++) {
        const u64 *n = ledger_at(&w->pairs, i);
        if (n[0] == point && n[2] > *count) {
            *count = n[2];
            found = (u32)n[1];
        }
    }
    return found;
}

/* Most lines that it comes to are not there. Of those that a prefetcher would bring, the half at most is missed, and the first ones of pages. */
static bool misses_all_along(u64 misses, u64 comes_to)
{
    return 4 * misses > 3 * comes_to;
}

/* Whether it is data of a function, and more than a few lines. */
static bool is_array_of(const struct advisor *a, u32 point, const struct point_row *row)
{
    return a->why->points.v[point].kind != POINT_fetch &&
           lines_of(a->why, &a->why->points.v[point]) > FEW_LINES &&
           !by_compare(BY_function, &a->rows->rows.v[a->rows->of.v[point]].place, &row->place);
}

static const char *data_of(const struct advisor *a, u32 point)
{
    return a->rows->rows.v[a->rows->of.v[point]].data;
}

/* How many arrays the function of a row touches. */
static u32 arrays_of(const struct advisor *a, const struct point_row *row)
{
    u32 n = 0;
    for (u32 i = 1; i < a->why->points.n; i++) {
        bool is_new = is_array_of(a, i, row);
        for (u32 k = 1; k < i && is_new; k++)
            is_new = !is_array_of(a, k, row) || strcmp(data_of(a, k), data_of(a, i));
        n += is_new;
    }
    return MAX(n, 1u);
}

/* -- Remedies ----------------------------------------------------------------------------------- */

static void advise(struct advisor *a, u32 point, enum remedy remedy, const char *text)
{
    const u64 misses = why_misses(a->why->points.v[point].count);
    const u32 row = a->rows->of.v[point];
    struct advice *x = NULL;
    for (size_t i = 0; i < a->advice.n; i++)
        if (a->advice.v[i].row == row && a->advice.v[i].remedy == remedy)
            x = &a->advice.v[i];
    if (!x)
        vec_push(&a->advice, ((struct advice){.remedy = remedy, .row = row}));
    x = x ? x : &a->advice.v[a->advice.n - 1];
    x->misses += misses;
    if (misses > x->heaviest) {
        x->heaviest = misses;
        snprintf(x->text, sizeof x->text, "%s", text);
    }
}

/* It walks across lines, and comes back for their other bytes too late. */
static void try_interchange(struct advisor *a, u32 point)
{
    const struct why *w = a->why;
    const struct why_point *p = &w->points.v[point];
    const u64 step = step_of(p), grid = p->walk.grid;
    char text[TEXT_ROOM];
    if (step < w->shape.line || !is_wasteful(w, p) || grid >= w->shape.line)
        return;
    snprintf(text, sizeof text,
             "steps of %lu bytes; %.1f %% of a line is used before it is evicted; in steps of %lu "
             "bytes, 1 touch in %lu would miss",
             step, use_of(w, p), grid, w->shape.line / grid);
    advise(a, point, REMEDY_interchange, text);
}

/* It comes back to the same lines, but there are too many of them in between. */
static void try_tile(struct advisor *a, u32 point)
{
    const struct why *w = a->why;
    const struct why_point *p = &w->points.v[point];
    const u64 lines = lines_of(w, p), times = p->count[WHY_capacity] / lines;
    const u32 size = (u32)MIN(MAX(p->walk.grid, (u64)p->walk.size), (u64)w->shape.line),
              in_line = w->shape.line / size,
              arrays = arrays_of(a, &a->rows->rows.v[a->rows->of.v[point]]),
              fits = (u32)sqrt((double)w->shape.size / arrays / size),
              tile = fits / in_line * in_line;
    char text[TEXT_ROOM];
    if (lines <= w->capacity || times < 2 || !tile)
        return;
    snprintf(text, sizeof text,
             "%lu lines, for which there are %lu places, come in %lu times each; tiles of %u by %u "
             "elements of %u bytes, of %u array%s, fit",
             lines, w->capacity, times, tile, tile, size, arrays, plural(arrays));
    advise(a, point, REMEDY_tile, text);
}

/* Its steps meet few sets, and it evicts its own lines there. */
static void try_pad(struct advisor *a, u32 point)
{
    const struct why *w = a->why;
    const struct why_point *p = &w->points.v[point];
    const u64 sets = shape_sets(&w->shape), step = step_of(p), lines = step / w->shape.line;
    u64 count;
    char text[TEXT_ROOM];
    if (!lines || step % w->shape.line || 2 * sets_met(sets, lines) > sets ||
        strcmp(data_of(a, point), data_of(a, evictor_of(w, point, &count))))
        return;
    snprintf(text, sizeof text,
             "%.1f %% of the misses are conflicts: steps of %lu bytes meet %lu of %lu sets; steps "
             "of %lu bytes, %lu",
             percent(p->count[WHY_conflict], why_misses(p->count)), step, sets_met(sets, lines),
             sets, step + w->shape.line, sets_met(sets, lines + 1));
    advise(a, point, REMEDY_pad, text);
}

/* It goes along with another, always in the same set. */
static void try_apart(struct advisor *a, u32 point)
{
    const struct why *w = a->why;
    u64 count;
    const u32 by = evictor_of(w, point, &count);
    const struct why_point *p = &w->points.v[point], *q = &w->points.v[by];
    const u64 span = shape_sets(&w->shape) * w->shape.line,
              apart = (u64)llabs((s64)(p->lowest - q->lowest));
    char text[TEXT_ROOM];
    if (!is_most(count, p->count[WHY_evictions]) || !step_of(p) || p->walk.step != q->walk.step ||
        !step_of(q) || !strcmp(data_of(a, point), data_of(a, by)) || apart < span ||
        apart % span >= w->shape.line)
        return;
    snprintf(text, sizeof text,
             "%.1f %% of the misses are conflicts; %.1f %% of its lines are evicted for %s, which "
             "is %lu bytes away, %lu times the %lu bytes of all sets",
             percent(p->count[WHY_conflict], why_misses(p->count)),
             percent(count, p->count[WHY_evictions]), data_of(a, by), apart, apart / span, span);
    advise(a, point, REMEDY_apart, text);
}

/* It takes the same few bytes of each record, and nobody takes the others while they are there. */
static void try_split(struct advisor *a, u32 point)
{
    const struct why *w = a->why;
    const struct why_point *p = &w->points.v[point];
    const u64 size = p->walk.size, grid = p->walk.grid;
    char text[TEXT_ROOM];
    if (grid < 2 * size || grid > LARGEST_RECORD || lines_of(w, p) <= FEW_LINES || !step_of(p) ||
        !is_wasteful(w, p))
        return;
    snprintf(text, sizeof text,
             "%lu of every %lu bytes; %.1f %% of a line is used before it is evicted; if they lie "
             "together, 1 line does for %lu",
             size, grid, use_of(w, p), MIN(grid, (u64)w->shape.line) / size);
    advise(a, point, REMEDY_split, text);
}

/* How long a point's lines take to come, from where most of them do, and how many steps of a walk that is. */
struct lead {
    u32 level;
    u32 cycles;
    double insns; /* from one step to the next */
    u64 steps;
};

static struct lead lead_of(const struct why *w, const struct why_point *p, const struct why_walk *along)
{
    struct lead x = {.level = w->level + 1};
    for (u32 k = x.level; k <= w->hierarchy->n_levels; k++)
        if (p->found[k] > p->found[x.level])
            x.level = k;
    x.cycles = shape_latency(w->hierarchy, x.level);
    x.insns = (double)along->insns / (double)along->timed;
    x.steps = (u64)ceil(x.cycles * shape_ipc(w->hierarchy) * (double)along->timed / (double)along->insns);
    return x;
}

static const char *level_name(const struct why *w, u32 level)
{
    const struct shape *s = w->hierarchy;
    return level < s->n_levels ? s->cache[s->path[SIDE_data][level]].name : "memory";
}

/* How many steps a walk makes before it begins anew, on an average. */
static double run_of(const struct why_walk *x)
{
    return (double)x->touches / (double)(x->touches - x->seen);
}

/* It goes through memory in equal steps, and nothing brings the lines before. */
static void try_prefetch(struct advisor *a, u32 point)
{
    const struct why *w = a->why;
    const struct why_point *p = &w->points.v[point];
    const u64 step = step_of(p), comes_to = p->walk.touches * MIN(step, (u64)w->shape.line) / w->shape.line;
    char text[TEXT_ROOM];
    if (!step || !p->walk.insns || !misses_all_along(why_misses(p->count), comes_to))
        return;
    const struct lead x = lead_of(w, p, &p->walk);
    if ((double)x.steps >= run_of(&p->walk))
        return;
    snprintf(text, sizeof text,
             "%.1f %% of the lines that it comes to miss; steps of %ld bytes, %.1f in a row, %.1f instructions from one to the "
             "next; %s takes %u cycles of %g instructions: %lu step%s ahead, %ld bytes",
             MIN(percent(why_misses(p->count), comes_to), 100.0), p->walk.step, run_of(&p->walk), x.insns,
             level_name(w, x.level), x.cycles, shape_ipc(w->hierarchy), x.steps, plural(x.steps), p->walk.step * (s64)x.steps);
    advise(a, point, REMEDY_prefetch, text);
}

/* It comes to any address, but what that is made of is read in equal steps. */
static void try_index(struct advisor *a, u32 point)
{
    const struct why *w = a->why;
    const struct why_point *p = &w->points.v[point];
    const struct why_point *index = p->feeder && p->feeder < w->points.n ? &w->points.v[p->feeder] : NULL;
    char text[TEXT_ROOM];
    if (!index || step_of(p) || !step_of(index) || !index->walk.insns ||
        percent(why_misses(p->count), p->walk.touches) < LEAST_PERCENT_AT_RANDOM)
        return;
    const struct lead x = lead_of(w, p, &index->walk);
    if ((double)x.steps >= run_of(&index->walk))
        return;
    snprintf(text, sizeof text,
             "%.1f %% of its touches miss, in no equal steps; its addresses are made of what is read from %s in steps of %ld "
             "bytes, %.1f in a row, %.1f instructions from one to the next; %s takes %u cycles of %g instructions: for the index "
             "%lu step%s ahead",
             percent(why_misses(p->count), p->walk.touches), data_of(a, p->feeder), index->walk.step, run_of(&index->walk), x.insns,
             level_name(w, x.level), x.cycles, shape_ipc(w->hierarchy), x.steps, plural(x.steps));
    advise(a, point, REMEDY_index, text);
}

static void look_at(struct advisor *a, u32 point)
{
    const struct why_point *p = &a->why->points.v[point];
    const u64 misses = why_misses(p->count);
    if (p->kind == POINT_fetch || 100 * misses < LEAST_PERCENT * why_misses(a->why->total) ||
        !misses || !p->walk.size)
        return;
    if (is_most(p->count[WHY_conflict], misses)) {
        try_pad(a, point);
        try_apart(a, point);
    }
    if (is_most(p->count[WHY_capacity], misses)) {
        try_interchange(a, point);
        try_tile(a, point);
    }
    if (is_most(p->count[WHY_capacity] + p->count[WHY_cold], misses)) {
        try_split(a, point);
        try_prefetch(a, point);
        try_index(a, point);
    }
}

/* -- The table ---------------------------------------------------------------------------------- */

static int by_misses(const void *a, const void *b)
{
    const struct advice *x = a, *y = b;
    if (x->misses != y->misses)
        return x->misses > y->misses ? -1 : 1;
    if (x->remedy != y->remedy)
        return x->remedy < y->remedy ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

void advice_tell(const struct why *w, const struct point_rows *x, struct result *r)
{
    struct advisor a = {.why = w, .rows = x};
    struct table *t =
        result_table(r, TABLE_rows, "advice", "what may help, if the program allows it");
    table_add_column(t, CELL_count, "misses", NULL);
    table_add_column(t, CELL_percent, "share", NULL);
    table_add_column(t, CELL_text, "remedy", NULL);
    table_add_column(t, CELL_text, "because", NULL);
    point_columns(x->by, "", t);
    for (u32 i = 1; i < w->points.n; i++)
        look_at(&a, i);
    if (a.advice.n)
        qsort(a.advice.v, a.advice.n, sizeof *a.advice.v, by_misses);
    for (size_t i = 0; i < a.advice.n; i++) {
        union cell *c = table_cells(t);
        (c++)->count = a.advice.v[i].misses;
        (c++)->number = percent(a.advice.v[i].misses, why_misses(w->total));
        (c++)->text = remedy_words[a.advice.v[i].remedy];
        (c++)->text = result_text(r, a.advice.v[i].text);
        point_cells(x->by, &x->rows.v[a.advice.v[i].row], r, c);
    }
    vec_fini(&a.advice);
}
