/* SPDX-License-Identifier: MIT */
/* Why a level misses, as tables. */
#include "analyze/why.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_words[] = {
    [POINT_read] = "read", [POINT_write] = "write", [POINT_fetch] = "fetch"};

/* -- Points ------------------------------------------------------------------------------------- */

struct point_key {
    struct point_row row;
    u32 point;
    enum by by;
};

static int compare_rows(enum by by, const struct point_row *x, const struct point_row *y)
{
    int order = by_compare(by, &x->place, &y->place);
    if (!order)
        order = strcmp(x->kind, y->kind);
    return order ? order : strcmp(x->data, y->data);
}

static int by_key(const void *a, const void *b)
{
    const struct point_key *x = a, *y = b;
    int order = compare_rows(x->by, &x->row, &y->row);
    return order ? order : x->point < y->point ? -1 : x->point > y->point;
}

static void add_counts(u64 *to, const u64 *from)
{
    for (u32 i = 0; i < WHY_COUNTS; i++)
        to[i] += from[i];
}

/* One name, if all places have that. NULL: so far, there is none. */
static const char *common_name(const struct why *w, const u32 *places, u32 n, struct variables *v, const char *name)
{
    for (u32 i = 0; i < n && places[i]; i++) {
        const char *x = variables_name(v, why_variable(w, places[i])).text;
        name = !name || !strcmp(name, x) ? x : "several";
    }
    return name;
}

static const char *data_of(const struct why *w, const struct why_point *p, struct variables *v)
{
    const char *name = common_name(w, p->data, POINT_DATA, v, p->has_more ? "several" : NULL);
    name = common_name(w, p->unnamed, ARRAY_LEN(p->unnamed), v, name);
    return name ? name : "nothing"; /* it was never asked for anything itself */
}

static struct point_key key_of(const struct why *w, u32 point, enum by by, struct variables *v, struct sources *s)
{
    const struct why_point *p = &w->points.v[point];
    struct point_key k = {.point = point, .by = by, .row = {.kind = "others", .data = "others"}};
    if (point)
        k.row = (struct point_row){.place = sources_find(s, p->process, p->pc),
                                   .kind = kind_words[p->kind],
                                   .data = data_of(w, p, v)};
    add_counts(k.row.count, p->count);
    return k;
}

static void make_rows(const struct why *w, enum by by, struct variables *v, struct sources *s,
                      struct point_rows *to)
{
    VEC(struct point_key) keys = {0};
    for (u32 i = 0; i < w->points.n; i++)
        vec_push(&keys, key_of(w, i, by, v, s));
    qsort(keys.v, keys.n, sizeof *keys.v, by_key);
    vec_reach(&to->of, w->points.n);
    for (size_t i = 0; i < keys.n; i++) {
        const struct point_key *k = &keys.v[i];
        if (!i || compare_rows(by, &keys.v[i - 1].row, &k->row))
            vec_push(&to->rows, k->row);
        else
            add_counts(to->rows.v[to->rows.n - 1].count, k->row.count);
        to->of.v[k->point] = (u32)to->rows.n - 1;
    }
    vec_fini(&keys);
}

/* -- Order -------------------------------------------------------------------------------------- */

/* Something with a weight; of the same weight, what comes first stays so. */
struct heavy {
    u64 weight, of;
    u32 a, b;
};
struct heavies {
    VEC(struct heavy) v;
};

static int by_weight(const void *a, const void *b)
{
    const struct heavy *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    if (x->of != y->of)
        return x->of > y->of ? -1 : 1;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return x->b < y->b ? -1 : x->b > y->b;
}

static void sort(struct heavies *x)
{
    if (x->v.n)
        qsort(x->v.v, x->v.n, sizeof *x->v.v, by_weight);
}

/* -- Counts ------------------------------------------------------------------------------------- */

static double percent(u64 n, u64 of)
{
    return of ? 100.0 * (double)n / (double)of : NAN;
}

static void count_columns(struct table *t)
{
    table_add_column(t, CELL_count, "misses", NULL);
    table_add_column(t, CELL_count, "hits", NULL);
    table_add_column(t, CELL_percent, "miss_ratio", NULL);
    table_add_column(t, CELL_count, "cold", NULL);
    table_add_column(t, CELL_count, "capacity", NULL);
    table_add_column(t, CELL_count, "conflict", NULL);
    table_add_column(t, CELL_count, "taken", NULL);
    table_add_column(t, CELL_percent, "temporal", NULL);
    table_add_column(t, CELL_count, "evictions", NULL);
    table_add_column(t, CELL_percent, "use", NULL);
}

static union cell *count_cells(const struct why *w, const u64 *n, union cell *c)
{
    const u64 misses = why_misses(n);
    (c++)->count = misses;
    (c++)->count = n[WHY_hits];
    (c++)->number = percent(misses, misses + n[WHY_hits]);
    for (u32 i = WHY_cold; i <= WHY_taken; i++)
        (c++)->count = n[i];
    (c++)->number = percent(n[WHY_temporal], n[WHY_hits]);
    (c++)->count = n[WHY_evictions];
    (c++)->number = percent(n[WHY_used], n[WHY_evictions] * w->shape.line);
    return c;
}

static void add_total(const struct why *w, const struct variables *v, struct result *r)
{
    struct table *t = result_table(r, TABLE_facts, "why", "why it misses");
    const u64 *n = w->total, misses = why_misses(n);
    fact_text(t, "level", "of the cache", w->shape.name);
    fact_count(t, "touches", "lines that it was asked for", misses + n[WHY_hits]);
    fact_count(t, "hits", "of these, it had", n[WHY_hits]);
    fact_percent(t, "temporal", "  for bytes that were used since the line came", n[WHY_temporal],
                 n[WHY_hits]);
    fact_count(t, "misses", "and had not", misses);
    fact_count(t, "cold", "  never brought in before", n[WHY_cold]);
    fact_count(t, "capacity", "  nor were they in a fully associative cache", n[WHY_capacity]);
    fact_count(t, "conflict", "  but were in a fully associative one", n[WHY_conflict]);
    fact_count(t, "taken", "  taken away by another core or cache", n[WHY_taken]);
    fact_count(t, "evictions", "lines that were evicted", n[WHY_evictions]);
    fact_percent(t, "use", "  of whose bytes were used", n[WHY_used],
                 n[WHY_evictions] * w->shape.line);
    if (variables_trouble(v))
        fact_text(t, "missing", "not known", variables_trouble(v));
}

/* -- Tables of points --------------------------------------------------------------------------- */

union cell *point_cells(enum by by, const struct point_row *x, struct result *r, union cell *c)
{
    (c++)->text = x->kind;
    (c++)->text = result_text(r, x->data);
    return by_cells(by, &x->place, r, c);
}

void point_columns(enum by by, const char *prefix, struct table *t)
{
    char name[16];
    snprintf(name, sizeof name, "%skind", prefix);
    table_add_column(t, CELL_text, name, NULL);
    snprintf(name, sizeof name, "%svariable", prefix);
    table_add_column(t, CELL_text, name, NULL);
    by_columns(by, prefix, t);
}

static void add_points(const struct why *w, const struct point_rows *x, enum by by,
                       struct result *r)
{
    struct heavies order = {0};
    struct table *t = result_table(r, TABLE_rows, "points", "reference points");
    count_columns(t);
    point_columns(by, "", t);
    for (u32 i = 0; i < x->rows.n; i++) {
        const u64 *n = x->rows.v[i].count, misses = why_misses(n);
        if (misses + n[WHY_hits] + n[WHY_evictions])
            vec_push(&order.v, ((struct heavy){.weight = misses, .of = n[WHY_hits], .a = i}));
    }
    sort(&order);
    for (size_t i = 0; i < order.v.n; i++) {
        const struct point_row *row = &x->rows.v[order.v.v[i].a];
        point_cells(by, row, r, count_cells(w, row->count, table_cells(t)));
    }
    vec_fini(&order.v);
}

/* Sort pairs; each also knows how many there are of its first. */
static void sort_pairs(const struct ledger *pairs, struct heavies *to)
{
    struct ledger firsts = {.counts = 1, .limit = SIZE_MAX};
    for (size_t i = 0; i < ledger_rows(pairs); i++)
        *ledger_row(&firsts, ledger_at(pairs, i)[0], 0) += ledger_at(pairs, i)[2];
    for (size_t i = 0; i < ledger_rows(pairs); i++) {
        const u64 *n = ledger_at(pairs, i);
        vec_push(&to->v,
                 ((struct heavy){n[2], *ledger_row(&firsts, n[0], 0), (u32)n[0], (u32)n[1]}));
    }
    sort(to);
    ledger_fini(&firsts);
}

static void add_evictors(const struct why *w, const struct point_rows *x, enum by by,
                         struct result *r)
{
    struct ledger sums = {.counts = 1, .limit = SIZE_MAX};
    struct heavies order = {0};
    struct table *t =
        result_table(r, TABLE_rows, "evictors", "whose lines were evicted, and by whom");
    table_add_column(t, CELL_count, "count", NULL);
    table_add_column(t, CELL_percent, "share", NULL);
    point_columns(by, "", t);
    point_columns(by, "by_", t);
    for (size_t i = 0; i < ledger_rows(&w->pairs); i++) {
        const u64 *n = ledger_at(&w->pairs, i);
        *ledger_row(&sums, x->of.v[n[0]], x->of.v[n[1]]) += n[2];
    }
    sort_pairs(&sums, &order);
    for (size_t i = 0; i < order.v.n; i++) {
        const struct heavy *h = &order.v.v[i];
        union cell *c = table_cells(t);
        (c++)->count = h->weight;
        (c++)->number = percent(h->weight, h->of);
        c = point_cells(by, &x->rows.v[h->a], r, c);
        point_cells(by, &x->rows.v[h->b], r, c);
    }
    vec_fini(&order.v);
    ledger_fini(&sums);
}

/* -- Tables of variables ------------------------------------------------------------------------ */

/* What data has the same name. */
struct data_row {
    const char *name;
    u64 count[WHY_COUNTS];
};
struct data_rows {
    VEC(struct data_row) rows;
    VEC(u32) of; /* by number of a variable + 1, as far as it was touched: its row; 0: all that did not fit */
};

struct named {
    const char *name;
    u32 number;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Variables of the same name are one row. */
static void make_data_rows(const struct why *w, struct variables *v, struct data_rows *to)
{
    VEC(struct named) names = {0};
    for (size_t i = 0; i < ledger_rows(&w->places); i++) {
        const u32 number = why_variable(w, (u32)ledger_at(&w->places, i)[0]);
        vec_push(&names, ((struct named){variables_name(v, number).text, number}));
    }
    if (names.n)
        qsort(names.v, names.n, sizeof *names.v, by_name);
    vec_push(&to->rows, (struct data_row){.name = "others"});
    vec_reach(&to->of, variables_count(v));
    for (size_t i = 0; i < names.n; i++) {
        if (strcmp(to->rows.v[to->rows.n - 1].name, names.v[i].name) || to->rows.n == 1)
            vec_push(&to->rows, (struct data_row){.name = names.v[i].name});
        to->of.v[names.v[i].number + 1] = (u32)to->rows.n - 1;
    }
    vec_fini(&names);
}

static u32 data_row_of(const struct why *w, const struct data_rows *x, u64 place)
{
    return place ? x->of.v[why_variable(w, (u32)place) + 1] : 0;
}

static void add_variables(const struct why *w, struct data_rows *x, struct result *r)
{
    struct heavies order = {0};
    struct table *t = result_table(r, TABLE_rows, "variables", "variables");
    count_columns(t);
    table_add_column(t, CELL_text, "variable", NULL);
    for (size_t i = 0; i < ledger_rows(&w->places); i++) {
        const u64 *n = ledger_at(&w->places, i);
        add_counts(x->rows.v[data_row_of(w, x, n[0])].count, n + 2);
    }
    for (u32 i = 1; i < x->rows.n; i++)
        vec_push(&order.v, ((struct heavy){.weight = why_misses(x->rows.v[i].count),
                                           .of = x->rows.v[i].count[WHY_hits],
                                           .a = i}));
    sort(&order);
    for (size_t i = 0; i < order.v.n; i++) {
        const struct data_row *row = &x->rows.v[order.v.v[i].a];
        count_cells(w, row->count, table_cells(t))->text = result_text(r, row->name);
    }
    vec_fini(&order.v);
}

static void add_variable_evictors(const struct why *w, const struct data_rows *x, struct result *r)
{
    struct ledger sums = {.counts = 1, .limit = SIZE_MAX};
    struct heavies order = {0};
    struct table *t =
        result_table(r, TABLE_rows, "variable_evictors", "whose lines were evicted, and by whose");
    table_add_column(t, CELL_count, "count", NULL);
    table_add_column(t, CELL_percent, "share", NULL);
    table_add_column(t, CELL_text, "variable", NULL);
    table_add_column(t, CELL_text, "by_variable", NULL);
    for (size_t i = 0; i < ledger_rows(&w->place_pairs); i++) {
        const u64 *n = ledger_at(&w->place_pairs, i);
        *ledger_row(&sums, data_row_of(w, x, n[0]), data_row_of(w, x, n[1])) += n[2];
    }
    sort_pairs(&sums, &order);
    for (size_t i = 0; i < order.v.n; i++) {
        const struct heavy *h = &order.v.v[i];
        table_row(t, h->weight, percent(h->weight, h->of), result_text(r, x->rows.v[h->a].name),
                  result_text(r, x->rows.v[h->b].name));
    }
    vec_fini(&order.v);
    ledger_fini(&sums);
}

void why_tell(struct why *w, enum by by, struct variables *v, struct sources *s, struct result *r)
{
    struct point_rows points = {.by = by};
    struct data_rows data = {0};
    add_total(w, v, r);
    make_rows(w, by, v, s, &points);
    add_points(w, &points, by, r);
    add_evictors(w, &points, by, r);
    make_data_rows(w, v, &data);
    add_variables(w, &data, r);
    add_variable_evictors(w, &data, r);
    advice_tell(w, &points, r);
    vec_fini(&points.rows);
    vec_fini(&points.of);
    vec_fini(&data.rows);
    vec_fini(&data.of);
}
