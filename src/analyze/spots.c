/* SPDX-License-Identifier: MIT */
/* Instructions, sorted by where they are, then by what they weigh. */
#include "analyze/spots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const by_names[] = {
    [BY_function] = "function", [BY_line] = "line", [BY_instruction] = "instruction"};

/* Instructions that are shown together. */
struct row {
    struct source place; /* of the first of them */
    u64 weight;
    u64 count[SPOT_COUNTS];
};

int by_read(enum by *by, const char *value, struct err *e)
{
    for (u32 i = 0; i < ARRAY_LEN(by_names); i++)
        if (!strcmp(value, by_names[i])) {
            *by = i;
            return 0;
        }
    return err_set(e, "is one of function, line, instruction, not %s", value);
}

int spots_by(struct spots *s, const char *value, struct err *e)
{
    return by_read(&s->by, value, e);
}

void spots_add(struct spots *s, u32 process, u64 pc, const u64 *count)
{
    struct spot x = {.process = process, .pc = pc};
    check(s->n_counts <= SPOT_COUNTS);
    memcpy(x.count, count, s->n_counts * sizeof *count);
    vec_push(&s->rows, x);
}

static void add_counts(u64 *to, const u64 *from, u32 n)
{
    for (u32 c = 0; c < n; c++)
        to[c] += from[c];
}

void spots_total(const struct spots *s, u64 *count)
{
    memset(count, 0, s->n_counts * sizeof *count);
    for (size_t i = 0; i < s->rows.n; i++)
        add_counts(count, s->rows.v[i].count, s->n_counts);
}

/* -- Order -------------------------------------------------------------------------------------- */

static int by_pc(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

static int compare_texts(const char *a, const char *b)
{
    return a == b ? 0 : !a ? -1 : !b ? 1 : strcmp(a, b);
}

static const char *module_of(const struct source *s)
{
    return s->module ? s->module->path : NULL;
}

int by_compare(enum by which, const struct source *x, const struct source *y)
{
    int order = compare_texts(module_of(x), module_of(y));
    if (!order)
        order = compare_texts(x->at.function, y->at.function);
    if (!order && which == BY_line)
        order = compare_texts(x->at.file, y->at.file);
    if (!order && which == BY_line)
        order = x->at.line < y->at.line ? -1 : x->at.line > y->at.line;
    if (!order && (which == BY_instruction || (!x->at.function && !x->module)))
        order = x->offset < y->offset ? -1 : x->offset > y->offset;
    return order;
}

static int by_place(const void *a, const void *b, void *by)
{
    const struct row *x = a, *y = b;
    return by_compare(*(const enum by *)by, &x->place, &y->place);
}

static int by_weight(const void *a, const void *b, void *by)
{
    const struct row *x = a, *y = b;
    return x->weight != y->weight ? (x->weight > y->weight ? -1 : 1) : by_place(a, b, by);
}

/* An instruction is in as many units as paths lead through it: one spot for each is enough. */
static void join_spots(struct spots *s)
{
    size_t kept = 0;
    if (s->rows.n)
        qsort(s->rows.v, s->rows.n, sizeof *s->rows.v, by_pc);
    for (size_t i = 0; i < s->rows.n; i++)
        if (kept && !by_pc(&s->rows.v[kept - 1], &s->rows.v[i]))
            add_counts(s->rows.v[kept - 1].count, s->rows.v[i].count, s->n_counts);
        else
            s->rows.v[kept++] = s->rows.v[i];
    s->rows.n = kept;
}

static u64 weigh(const struct row *x, u64 weight)
{
    u64 sum = 0;
    for (; weight; weight &= weight - 1)
        sum += x->count[__builtin_ctzll(weight)];
    return sum;
}

/* -- The table ---------------------------------------------------------------------------------- */

static void add_column(struct table *t, enum cell_type type, const char *prefix, const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s", prefix, name);
    table_add_column(t, type, text, NULL);
}

void by_columns(enum by by, const char *prefix, struct table *t)
{
    if (by == BY_line) {
        add_column(t, CELL_text, prefix, "file");
        add_column(t, CELL_count, prefix, "line");
    }
    if (by == BY_instruction)
        add_column(t, CELL_address, prefix, "offset");
    add_column(t, CELL_text, prefix, "function");
    add_column(t, CELL_text, prefix, "module");
}

union cell *by_cells(enum by by, const struct source *p, struct result *r, union cell *c)
{
    if (by == BY_line) {
        (c++)->text = result_text(r, p->at.file);
        (c++)->count = p->at.line;
    }
    if (by == BY_instruction)
        (c++)->count = p->offset;
    (c++)->text = result_text(r, p->at.function);
    (c++)->text = result_text(r, module_of(p));
    return c;
}

static void add_row(const struct spots *s, const struct row *x, struct table *t)
{
    union cell *c = table_cells(t);
    for (u32 i = 0; i < s->n_counts; i++)
        (c++)->count = x->count[i];
    if (s->rate)
        (c++)->number =
            x->count[0] ? 1000.0 * (double)weigh(x, s->rate_weight) / (double)x->count[0] : 0.0;
    by_cells(s->by, &x->place, t->result, c);
}

void spots_table(struct spots *s, struct sources *sources, u64 weight, struct table *t)
{
    VEC(struct row) rows = {0};
    size_t kept = 0;
    check(t->columns.n == s->n_counts);
    join_spots(s);
    for (size_t i = 0; i < s->rows.n; i++) {
        struct row x = {.place = sources_find(sources, s->rows.v[i].process, s->rows.v[i].pc)};
        add_counts(x.count, s->rows.v[i].count, s->n_counts);
        vec_push(&rows, x);
    }
    if (rows.n)
        qsort_r(rows.v, rows.n, sizeof *rows.v, by_place, &s->by);
    for (size_t i = 0; i < rows.n; i++)
        if (kept && !by_place(&rows.v[kept - 1], &rows.v[i], &s->by))
            add_counts(rows.v[kept - 1].count, rows.v[i].count, s->n_counts);
        else
            rows.v[kept++] = rows.v[i];
    for (size_t i = 0; i < kept; i++)
        rows.v[i].weight = weigh(&rows.v[i], weight);
    if (kept)
        qsort_r(rows.v, kept, sizeof *rows.v, by_weight, &s->by);
    if (s->rate)
        table_add_column(t, CELL_number, s->rate, NULL);
    by_columns(s->by, "", t);
    for (size_t i = 0; i < kept; i++)
        add_row(s, &rows.v[i], t);
    vec_fini(&rows);
}

void spots_fini(struct spots *s)
{
    vec_fini(&s->rows);
}
