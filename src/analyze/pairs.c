/* SPDX-License-Identifier: MIT */
/* Places are found and numbered first, each once; then pairs are pairs of numbers. */
#include "analyze/pairs.h"

#include <stdlib.h>

/* An instruction of some pairs. */
struct end {
    u32 process;
    u64 pc;
    struct source place;
    u32 number; /* the same for places that are shown together */
};

struct ends {
    enum by by;
    VEC(struct end) all; /* by pc */
    VEC(u32) shown;      /* by number: one of those that have it */
};

/* Pairs that are shown together. */
struct row {
    u32 store, load; /* numbers of places */
    struct depend n;
};

void pairs_add(struct pairs *p, u32 process, u64 store, u64 load, const struct depend *n)
{
    vec_push(&p->rows, ((struct pair){process, store, load, *n}));
}

struct depend pairs_total(const struct pairs *p)
{
    struct depend n = DEPEND_NONE;
    for (size_t i = 0; i < p->rows.n; i++)
        depend_add(&n, &p->rows.v[i].n);
    return n;
}

void pairs_fini(struct pairs *p)
{
    vec_fini(&p->rows);
}

/* -- Places ------------------------------------------------------------------------------------- */

static int by_pc(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

/* Each instruction once. */
static void list_ends(struct ends *x, const struct pairs *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->rows.n; i++) {
        const struct pair *r = &p->rows.v[i];
        vec_push(&x->all, ((struct end){.process = r->process, .pc = r->store}));
        vec_push(&x->all, ((struct end){.process = r->process, .pc = r->load}));
    }
    if (x->all.n)
        qsort(x->all.v, x->all.n, sizeof *x->all.v, by_pc);
    for (size_t i = 0; i < x->all.n; i++)
        if (!kept || by_pc(&x->all.v[kept - 1], &x->all.v[i]))
            x->all.v[kept++] = x->all.v[i];
    x->all.n = kept;
}

static int by_place(const void *a, const void *b, void *ends)
{
    const struct ends *x = ends;
    return by_compare(x->by, &x->all.v[*(const u32 *)a].place, &x->all.v[*(const u32 *)b].place);
}

static void number_ends(struct ends *x, struct sources *sources)
{
    VEC(u32) order = {0};
    for (size_t i = 0; i < x->all.n; i++) {
        x->all.v[i].place = sources_find(sources, x->all.v[i].process, x->all.v[i].pc);
        vec_push(&order, (u32)i);
    }
    if (order.n)
        qsort_r(order.v, order.n, sizeof *order.v, by_place, x);
    for (size_t i = 0; i < order.n; i++) {
        if (!i || by_place(&order.v[i - 1], &order.v[i], x))
            vec_push(&x->shown, order.v[i]);
        x->all.v[order.v[i]].number = (u32)x->shown.n - 1;
    }
    vec_fini(&order);
}

static u32 number_of(const struct ends *x, u32 process, u64 pc)
{
    const struct end key = {.process = process, .pc = pc};
    const struct end *e = bsearch(&key, x->all.v, x->all.n, sizeof *x->all.v, by_pc);
    return e->number;
}

/* -- The table ---------------------------------------------------------------------------------- */

static int by_numbers(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->store != y->store)
        return x->store < y->store ? -1 : 1;
    return x->load < y->load ? -1 : x->load > y->load;
}

static int by_weight(const void *a, const void *b, void *sort)
{
    const struct row *x = a, *y = b;
    if (*(const enum pair_sort *)sort == PAIRS_cross && x->n.cross != y->n.cross)
        return x->n.cross > y->n.cross ? -1 : 1;
    if (x->n.count != y->n.count)
        return x->n.count > y->n.count ? -1 : 1;
    return by_numbers(a, b);
}

static void add_row(const struct row *x, const struct ends *ends, u64 total, struct table *t)
{
    union cell *c = table_cells(t);
    (c++)->count = x->n.count;
    (c++)->number = 100.0 * (double)x->n.count / (double)total;
    (c++)->count = x->n.cross;
    (c++)->number = depend_mean(&x->n);
    (c++)->count = x->n.least;
    c = by_cells(ends->by, &ends->all.v[ends->shown.v[x->store]].place, t->result, c);
    by_cells(ends->by, &ends->all.v[ends->shown.v[x->load]].place, t->result, c);
}

static void add_columns(enum by by, struct table *t)
{
    table_add_column(t, CELL_count, "count", "dependences");
    table_add_column(t, CELL_percent, "share", "of all dependences");
    table_add_column(t, CELL_count, "cross", "with a store of another thread");
    table_add_column(t, CELL_number, "mean", "mean distance in instructions");
    table_add_column(t, CELL_count, "min", "least distance");
    by_columns(by, "store_", t);
    by_columns(by, "load_", t);
}

void pairs_table(struct pairs *p, struct sources *sources, struct table *t)
{
    struct ends ends = {.by = p->by};
    VEC(struct row) rows = {0};
    size_t kept = 0;
    list_ends(&ends, p);
    number_ends(&ends, sources);
    for (size_t i = 0; i < p->rows.n; i++) {
        const struct pair *x = &p->rows.v[i];
        vec_push(&rows, ((struct row){number_of(&ends, x->process, x->store),
                                      number_of(&ends, x->process, x->load), x->n}));
    }
    if (rows.n)
        qsort(rows.v, rows.n, sizeof *rows.v, by_numbers);
    for (size_t i = 0; i < rows.n; i++)
        if (kept && !by_numbers(&rows.v[kept - 1], &rows.v[i]))
            depend_add(&rows.v[kept - 1].n, &rows.v[i].n);
        else
            rows.v[kept++] = rows.v[i];
    if (kept)
        qsort_r(rows.v, kept, sizeof *rows.v, by_weight, &p->sort);
    add_columns(p->by, t);
    const u64 total = pairs_total(p).count;
    for (size_t i = 0; i < kept; i++)
        add_row(&rows.v[i], &ends, total, t);
    vec_fini(&rows);
    vec_fini(&ends.all);
    vec_fini(&ends.shown);
}
