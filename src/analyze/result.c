/* SPDX-License-Identifier: MIT */
/* Tables of typed cells. */
#include "analyze/result.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

const char *result_text(struct result *r, const char *s)
{
    if (!s)
        return NULL;
    size_t n = strlen(s) + 1;
    return memcpy(arena_alloc(&r->arena, n), s, n);
}

struct table *result_table(struct result *r, enum table_kind kind, const char *name,
                           const char *title)
{
    struct table *t = arena_alloc(&r->arena, sizeof *t);
    *t = (struct table){.name = result_text(r, name),
                        .title = result_text(r, title),
                        .kind = kind,
                        .result = r};
    vec_push(&r->tables, t);
    return t;
}

void table_add_column(struct table *t, enum cell_type type, const char *name, const char *what)
{
    struct result *r = t->result;
    check(t->kind == TABLE_facts || !t->cells.n);
    vec_push(&t->columns, ((struct table_column){result_text(r, name), result_text(r, what), type}));
}

union cell *table_cells(struct table *t)
{
    union cell *c = vec_grow(&t->cells, t->columns.n);
    memset(c, 0, t->columns.n * sizeof *c);
    return c;
}

static size_t rows_made(const struct table *t)
{
    return t->columns.n ? t->cells.n / t->columns.n : 0;
}

size_t table_rows(const struct table *t)
{
    return rows_made(t) + t->left_out;
}

size_t table_room(const struct table *t)
{
    const size_t top = t->kind == TABLE_rows && t->result->top ? t->result->top : SIZE_MAX;
    return top - MIN(top, rows_made(t));
}

void table_leave_out(struct table *t, size_t rows)
{
    check(!rows || !table_room(t));
    t->left_out += rows;
}

void table_row_args(struct table *t, va_list args)
{
    union cell *c = table_cells(t);
    for (size_t i = 0; i < t->columns.n; i++)
        switch (t->columns.v[i].type) {
        case CELL_text:
            c[i].text = result_text(t->result, va_arg(args, const char *));
            break;
        case CELL_count:
        case CELL_address:
            c[i].count = va_arg(args, u64);
            break;
        case CELL_number:
        case CELL_percent:
            c[i].number = va_arg(args, double);
        }
}

void table_row(struct table *t, ...)
{
    va_list args;
    va_start(args, t);
    table_row_args(t, args);
    va_end(args);
}

static void fact(struct table *t, enum cell_type type, const char *name, const char *what,
                 union cell c)
{
    check(t->kind == TABLE_facts);
    table_add_column(t, type, name, what);
    vec_push(&t->cells, c);
}

void fact_count(struct table *t, const char *name, const char *what, u64 n)
{
    fact(t, CELL_count, name, what, (union cell){.count = n});
}

void fact_number(struct table *t, const char *name, const char *what, double x)
{
    fact(t, CELL_number, name, what, (union cell){.number = x});
}

void fact_percent(struct table *t, const char *name, const char *what, u64 n, u64 of)
{
    fact(t, CELL_percent, name, what,
         (union cell){.number = of ? 100.0 * (double)n / (double)of : 0.0});
}

void fact_text(struct table *t, const char *name, const char *what, const char *s)
{
    fact(t, CELL_text, name, what, (union cell){.text = result_text(t->result, s)});
}

void result_fini(struct result *r)
{
    for (size_t i = 0; i < r->tables.n; i++) {
        vec_fini(&r->tables.v[i]->columns);
        vec_fini(&r->tables.v[i]->cells);
    }
    vec_fini(&r->tables);
    arena_fini(&r->arena);
}
