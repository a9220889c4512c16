/* SPDX-License-Identifier: MIT */
/* The analysis `deps`: which stores wrote what loads read, and how long before.
 *
 * A load depends on each execution of an instruction that was the last to write a byte of it. Time is counted in instructions of a
 * memory, all its threads together, in the order of the trace. */
#include "analyze/analysis.h"
#include "analyze/pairs.h"
#include "analyze/extents.h"

#include <stdlib.h>
#include <string.h>

enum { DISTANCES = 65 }; /* 0, 1, 2 .. 3, 4 .. 7, ... */

/* What is counted of loads; a load that depends on several stores has several dependences. */
struct found {
    u64 unwritten, several;
    u64 distance[DISTANCES],
        cross[DISTANCES]; /* dependences; of these, with a store of another thread */
};

struct deps {
    u32 parts;
    struct pairs pairs;
    struct found found;
    u64 insns, loads, stores;
};

/* A part of a memory: some of its pages. */
struct deps_part {
    u64 time; /* instructions of all works that it has taken */
    struct shadow shadow;
    struct edges edges;
    struct found found;
    struct writer writers[SHADOW_PAGE]; /* of one load, in one page */
    VEC(struct writer) joined;          /* ... in all its pages */
};

struct deps_memory {
    struct deps *deps;
    u32 number;
    const struct unit_table *table;
    struct deps_part *parts;
};

struct deps_work {
    struct extents extents;
    u32 thread;
    u32 left; /* parts that have yet to take it; atomic */
};

/* -- The study ---------------------------------------------------------------------------------- */

static void *deps_make(void)
{
    struct deps *d = zeros(1, sizeof *d);
    d->pairs.by = BY_line;
    return d;
}

static int deps_set(void *deps, const char *option, const char *value, struct err *e)
{
    struct deps *d = deps;
    if (!strcmp(option, "by"))
        return by_read(&d->pairs.by, value, e);
    if (strcmp(value, "count") && strcmp(value, "cross"))
        return err_set(e, "is one of count, cross, not %s", value);
    d->pairs.sort = !strcmp(value, "cross") ? PAIRS_cross : PAIRS_count;
    return 0;
}

static int deps_begin(void *deps, u32 workers, struct err *e)
{
    struct deps *d = deps;
    (void)e;
    d->parts = workers;
    return (int)workers;
}

static void deps_drop(void *deps)
{
    struct deps *d = deps;
    pairs_fini(&d->pairs);
    free(d);
}

/* -- Memories and works ------------------------------------------------------------------------- */

static void *deps_memory(void *deps, u32 number, const struct unit_table *t)
{
    struct deps *d = deps;
    struct deps_memory *m = zeros(1, sizeof *m);
    *m = (struct deps_memory){.deps = d, .number = number, .table = t};
    m->parts = zeros(d->parts, sizeof *m->parts);
    for (u32 k = 0; k < d->parts; k++)
        shadow_init(&m->parts[k].shadow);
    return m;
}

static void *deps_work(void *memory)
{
    struct deps_memory *m = memory;
    struct deps_work *w = zeros(1, sizeof *w);
    extents_init(&w->extents, m->deps->parts);
    return w;
}

static void deps_open(void *work, u32 thread)
{
    struct deps_work *w = work;
    w->thread = thread;
    w->left = w->extents.n_parts;
    extents_empty(&w->extents);
}

static void deps_add(void *work, const struct events *e)
{
    struct deps_work *w = work;
    extents_add(&w->extents, e);
}

static void deps_merge(void *memory, void *work)
{
    struct deps_memory *m = memory;
    struct deps_work *w = work;
    m->deps->loads += w->extents.loads;
    m->deps->stores += w->extents.stores;
    extents_fini(&w->extents);
    free(w);
}

/* -- Dependences -------------------------------------------------------------------------------- */

static u32 distance_class(u64 distance)
{
    return distance ? 64 - (u32)__builtin_clzll(distance) : 0;
}

/* A load of this thread, at this time, reads what n writers wrote. */
static void count_load(struct deps_part *p, u32 load, u64 time, u32 thread, const struct writer *w,
                       u32 n)
{
    if (n != 1) {
        p->found.unwritten += !n;
        p->found.several += n > 1;
    }
    for (u32 i = 0; i < n; i++) {
        u64 distance = time - w[i].time;
        bool cross = w[i].thread != thread;
        p->found.distance[distance_class(distance)]++;
        if (cross)
            p->found.cross[distance_class(distance)]++;
        edges_count(&p->edges, w[i].ref, load, distance, cross);
    }
}

/* What is found of a piece waits until all pieces of its load have been looked at. */
static void take_piece(struct deps_part *p, struct deps_work *w, u32 part, const struct extent *x)
{
    struct piece *piece = &w->extents.pieces.v[x->ref];
    struct extent_part *of = &w->extents.parts[part];
    piece->first = (u32)of->found.n;
    piece->n = shadow_read(&p->shadow, x->address, x->bytes, p->writers);
    for (u32 i = 0; i < piece->n; i++)
        vec_push(&of->found, p->writers[i]);
}

static void take_loads(struct deps_part *p, const struct deps_work *w, const struct extent *x)
{
    const u32 element = x->element ? x->element : x->bytes;
    for (u32 at = 0; at < x->bytes; at += element) {
        u32 n = shadow_read(&p->shadow, x->address + at, element, p->writers);
        count_load(p, x->ref, p->time + x->time, w->thread, p->writers, n);
    }
}

static void take_extent(struct deps_part *p, struct deps_work *w, u32 part, const struct extent *x)
{
    const u32 kind = x->flags & EXTENT_KIND;
    const bool is_piece = x->flags & EXTENT_PIECE;
    const u32 ref = is_piece ? w->extents.pieces.v[x->ref].ref : x->ref;
    if (is_piece)
        take_piece(p, w, part, x);
    else if (kind != REF_STORE)
        take_loads(p, w, x);
    if (kind != REF_LOAD)
        shadow_write(&p->shadow, x->address, x->bytes,
                     (struct writer){p->time + x->time, ref, w->thread});
}

static void join_writers(struct deps_part *p, const struct writer *w, u32 n)
{
    const size_t before = p->joined.n; /* those of one page differ */
    for (u32 i = 0; i < n; i++) {
        size_t same = 0;
        while (same < before && p->joined.v[same].time != w[i].time)
            same++;
        if (same == before)
            vec_push(&p->joined, w[i]);
    }
}

/* A load that crosses pages, when all parts have looked at their pieces. The same store may have crossed there too. */
static void count_crossing(struct deps_part *p, const struct deps_work *w, const struct crossing *c)
{
    p->joined.n = 0;
    for (u32 i = c->first; i < c->first + c->n; i++) {
        const struct piece *piece = &w->extents.pieces.v[i];
        join_writers(p, w->extents.parts[piece->part].found.v + piece->first, piece->n);
    }
    count_load(p, c->ref, p->time + c->time, w->thread, p->joined.v, (u32)p->joined.n);
}

static void deps_take(void *memory, void *work, u32 part)
{
    struct deps_memory *m = memory;
    struct deps_work *w = work;
    struct deps_part *p = &m->parts[part];
    const struct extent_part *of = &w->extents.parts[part];
    for (size_t i = 0; i < of->list.n; i++)
        take_extent(p, w, part, &of->list.v[i]);
    if (!__atomic_sub_fetch(&w->left, 1, __ATOMIC_ACQ_REL))
        for (size_t i = 0; i < w->extents.crossings.n; i++)
            count_crossing(p, w, &w->extents.crossings.v[i]);
    p->time += w->extents.insns;
}

/* -- Results ------------------------------------------------------------------------------------ */

static void add_found(struct found *to, const struct found *from)
{
    to->unwritten += from->unwritten;
    to->several += from->several;
    for (u32 k = 0; k < DISTANCES; k++) {
        to->distance[k] += from->distance[k];
        to->cross[k] += from->cross[k];
    }
}

/* The instruction of each reference. */
static u64 *pcs_of_refs(const struct unit_table *t)
{
    u64 *pc = zeros(MAX(t->refs.n, 1ul), sizeof *pc);
    for (size_t i = 0; i < t->units.n; i++) {
        const struct unit *u = &t->units.v[i];
        for (u32 j = u->ref0; j < u->ref0 + u->n_refs; j++)
            pc[j] = t->insns.v[u->insn0 + t->refs.v[j].insn].pc;
    }
    return pc;
}

static void deps_end(void *memory)
{
    struct deps_memory *m = memory;
    struct deps *d = m->deps;
    u64 *pc = pcs_of_refs(m->table);
    d->insns += m->parts[0].time;
    for (u32 k = 0; k < d->parts; k++) {
        struct deps_part *p = &m->parts[k];
        add_found(&d->found, &p->found);
        for (size_t i = 0; i < p->edges.all.n; i++) {
            const struct edge *x = &p->edges.all.v[i];
            pairs_add(&d->pairs, m->number, pc[x->store], pc[x->load], &x->n);
        }
        edges_fini(&p->edges);
        vec_fini(&p->joined);
        shadow_fini(&p->shadow);
    }
    free(pc);
    free(m->parts);
    free(m);
}

static void add_total(const struct deps *d, struct result *r)
{
    struct table *t = result_table(r, TABLE_facts, "total", "in all");
    struct depend n = pairs_total(&d->pairs);
    fact_count(t, "instructions", NULL, d->insns);
    fact_count(t, "stores", "references that write", d->stores);
    fact_count(t, "loads", "references that read", d->loads);
    fact_count(t, "dependent", "... what a store wrote", d->loads - d->found.unwritten);
    fact_count(t, "several", "... what several stores wrote", d->found.several);
    fact_count(t, "unwritten", "... what no store wrote", d->found.unwritten);
    fact_count(t, "dependences", "dependences of loads on stores", n.count);
    fact_count(t, "cross", "... on stores of other threads", n.cross);
    fact_percent(t, "cross_share", "... of all", n.cross, n.count);
    fact_number(t, "mean", "mean distance in instructions", depend_mean(&n));
}

static void add_distances(const struct found *f, u64 total, struct result *r)
{
    struct table *t = result_table(r, TABLE_series, "distances", "instructions from store to load");
    u32 end = DISTANCES;
    u64 so_far = 0;
    table_add_column(t, CELL_count, "from", "least distance");
    table_add_column(t, CELL_count, "to", "greatest distance");
    table_add_column(t, CELL_count, "count", "dependences");
    table_add_column(t, CELL_percent, "share", "of all dependences");
    table_add_column(t, CELL_percent, "up_to", "of all dependences, up to this distance");
    table_add_column(t, CELL_count, "cross", "with a store of another thread");
    while (end && !f->distance[end - 1])
        end--;
    for (u32 k = 0; k < end; k++) {
        u64 from = k ? 1ull << (k - 1) : 0;
        so_far += f->distance[k];
        table_row(t, from, k ? 2 * from - 1 : 0, f->distance[k],
                  100.0 * (double)f->distance[k] / (double)total,
                  100.0 * (double)so_far / (double)total, f->cross[k]);
    }
}

static void deps_finish(void *deps, struct sources *s, struct result *r)
{
    struct deps *d = deps;
    add_total(d, r);
    pairs_table(&d->pairs, s,
                result_table(r, TABLE_rows, "pairs", "from which store to which load"));
    add_distances(&d->found, pairs_total(&d->pairs).count, r);
}

static const struct analysis_option options[] = {
    {"by", "function|line|instruction", "what a row stands for: all pairs of two of these"},
    {"sort", "count|cross",
     "which pairs come first: the most dependences, or the most across threads"},
    {0},
};

const struct analysis analysis_deps = {
    .name = "deps",
    .options = options,
    .wants_memory = true,
    .make = deps_make,
    .set = deps_set,
    .begin = deps_begin,
    .finish = deps_finish,
    .drop = deps_drop,
    .memory = deps_memory,
    .end = deps_end,
    .work = deps_work,
    .open = deps_open,
    .add = deps_add,
    .take = deps_take,
    .merge = deps_merge,
};
