/* SPDX-License-Identifier: MIT */
/* What an analysis has found: tables whose columns have types, so that they can be shown in any form. */
#ifndef RESULT_H
#define RESULT_H

#include "base/arena.h"
#include "base/vec.h"

#include <stdarg.h>

enum cell_type {
    CELL_text,    /* const char *, copied; NULL: not known */
    CELL_count,   /* u64 */
    CELL_address, /* u64 */
    CELL_number,  /* double */
    CELL_percent, /* double, of 100 */
};

enum table_kind {
    TABLE_facts,  /* one row, of which each cell has a name */
    TABLE_rows,   /* what matters most comes first: people see the first of them */
    TABLE_series, /* the first column goes up */
    TABLE_tree,   /* the first column is the depth of a row, which belongs to the last one above it that is less deep */
};

union cell {
    const char *text;
    u64 count;
    double number;
};

struct table_column {
    const char *name; /* for programs */
    const char *what; /* for people; NULL: the name */
    enum cell_type type;
};

struct table {
    const char *name, *title;
    enum table_kind kind;
    VEC(struct table_column) columns;
    VEC(union cell) cells; /* row by row */
    size_t left_out;       /* rows behind them, which nobody will see */
    struct result *result;
};

struct result {
    VEC(struct table *) tables;
    size_t top;         /* rows of a TABLE_rows that will be shown; 0: all */
    bool failed;        /* it was to be shown that something holds, and it does not */
    struct arena arena; /* of everything below */
};

/* Texts are copied. */
struct table *result_table(struct result *r, enum table_kind kind, const char *name,
                           const char *title);
void table_add_column(struct table *t, enum cell_type type, const char *name, const char *what);
/* A row with a cell for each column: const char *, u64 or double, as its type says. */
void table_row(struct table *t, ...);
void table_row_args(struct table *t, va_list args);
/* The same, cell by cell: room for a row, with zeros and no texts. */
union cell *table_cells(struct table *t);
/* With those that were left out. */
size_t table_rows(const struct table *t);
/* How many rows more will be shown. Those behind need not be made, but are told of. */
size_t table_room(const struct table *t);
void table_leave_out(struct table *t, size_t rows);
/* A copy that lives as long as the result; NULL stays NULL. */
const char *result_text(struct result *r, const char *s);
void result_fini(struct result *r);

/* Facts, one by one. */
void fact_count(struct table *t, const char *name, const char *what, u64 n);
void fact_number(struct table *t, const char *name, const char *what, double x);
void fact_percent(struct table *t, const char *name, const char *what, u64 n, u64 of);
void fact_text(struct table *t, const char *name, const char *what, const char *s);

#endif
