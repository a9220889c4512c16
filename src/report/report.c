/* SPDX-License-Identifier: MIT */
/* Tables as text, JSON and CSV. */
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t shown(const struct table *t, size_t top)
{
    size_t n = table_rows(t);
    return t->kind == TABLE_series ? n : MIN(n, t->kind == TABLE_facts ? 1 : top);
}

static bool is_text(const struct table *t, size_t column)
{
    return t->columns.v[column].type == CELL_text;
}

/* -- Text --------------------------------------------------------------------------------------- */

enum { CELL_ROOM = 64 };

/* A cell for people. */
static const char *cell_text(char room[CELL_ROOM], const struct table_column *k,
                             const union cell *c)
{
    switch (k->type) {
    case CELL_text:
        return c->text ? c->text : "?";
    case CELL_count:
        snprintf(room, CELL_ROOM, "%" PRIu64, c->count);
        break;
    case CELL_address:
        snprintf(room, CELL_ROOM, "0x%" PRIx64, c->count);
        break;
    case CELL_number:
        snprintf(room, CELL_ROOM, isfinite(c->number) ? "%.3f" : "-", c->number);
        break;
    case CELL_percent:
        snprintf(room, CELL_ROOM, isfinite(c->number) ? "%.2f %%" : "-", c->number);
    }
    return room;
}

enum { INDENT = 2, INDENT_LIMIT = 80 };

static size_t first_text(const struct table *t)
{
    size_t k = 0;
    while (k < t->columns.n && !is_text(t, k))
        k++;
    return k;
}

/* Of a tree, people see the first text as far to the right as its row is deep. */
static int indent_of(const struct table *t, size_t row, size_t column)
{
    if (t->kind != TABLE_tree || column != first_text(t))
        return 0;
    return (int)MIN(INDENT * t->cells.v[row * t->columns.n].count, (u64)INDENT_LIMIT);
}

static int width_of(const struct table *t, size_t column, size_t rows)
{
    char room[CELL_ROOM];
    size_t width = strlen(t->columns.v[column].name);
    for (size_t i = 0; i < rows; i++) {
        const union cell *c = &t->cells.v[i * t->columns.n + column];
        size_t n = strlen(cell_text(room, &t->columns.v[column], c)) +
                   (size_t)indent_of(t, i, column);
        width = MAX(width, n);
    }
    return (int)width;
}

static void print_facts(FILE *f, const struct table *t)
{
    size_t width = 0;
    char room[CELL_ROOM];
    for (size_t i = 0; i < t->columns.n; i++) {
        const struct table_column *k = &t->columns.v[i];
        size_t n = strlen(k->what ? k->what : k->name);
        width = MAX(width, n);
    }
    for (size_t i = 0; i < t->columns.n; i++) {
        const struct table_column *k = &t->columns.v[i];
        fprintf(f, "%-*s  %16s\n", (int)width, k->what ? k->what : k->name,
                cell_text(room, k, &t->cells.v[i]));
    }
}

/* Numbers to the right, texts to the left, and no spaces at the end of a line. */
static void print_cell(FILE *f, const struct table *t, size_t column, int width, const char *s)
{
    bool last = column + 1 == t->columns.n;
    fprintf(f, is_text(t, column) ? "%-*s" : "%*s", last && is_text(t, column) ? 0 : width, s);
    fputs(last ? "\n" : "  ", f);
}

static void print_rows(FILE *f, const struct table *t, size_t rows)
{
    char room[CELL_ROOM];
    VEC(int) width = {0};
    size_t first = t->kind == TABLE_tree; /* how deep a row is can be seen */
    for (size_t k = 0; k < t->columns.n; k++)
        vec_push(&width, width_of(t, k, rows));
    for (size_t k = first; k < t->columns.n; k++)
        print_cell(f, t, k, width.v[k], t->columns.v[k].name);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = first; k < t->columns.n; k++) {
            int indent = indent_of(t, i, k);
            fprintf(f, "%*s", indent, "");
            print_cell(f, t, k, width.v[k] - indent,
                       cell_text(room, &t->columns.v[k], &t->cells.v[i * t->columns.n + k]));
        }
    vec_fini(&width);
}

void report_text(FILE *f, const struct result *r, size_t top)
{
    for (size_t i = 0; i < r->tables.n; i++) {
        const struct table *t = r->tables.v[i];
        size_t rows = shown(t, top);
        fprintf(f, "%s%s\n", i ? "\n" : "", t->title);
        if (t->kind != TABLE_facts)
            print_rows(f, t, rows);
        else if (rows)
            print_facts(f, t);
        if (t->kind == TABLE_rows && rows < table_rows(t))
            fprintf(f, "and %zu more; --top N shows N\n", table_rows(t) - rows);
    }
}

/* -- JSON --------------------------------------------------------------------------------------- */

void report_json_string(FILE *f, const char *s)
{
    putc('"', f);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            fprintf(f, "\\u%04x", c);
        else
            putc(c, f);
    }
    putc('"', f);
}

static void json_cell(FILE *f, enum cell_type type, const union cell *c)
{
    if (type == CELL_text && c->text)
        report_json_string(f, c->text);
    else if (type == CELL_count || type == CELL_address)
        fprintf(f, "%" PRIu64, c->count);
    else if (type != CELL_text && isfinite(c->number))
        fprintf(f, "%.17g", c->number);
    else
        fputs("null", f);
}

static void json_row(FILE *f, const struct table *t, size_t row)
{
    putc('{', f);
    for (size_t k = 0; k < t->columns.n; k++) {
        fputs(k ? ", " : "", f);
        report_json_string(f, t->columns.v[k].name);
        fputs(": ", f);
        json_cell(f, t->columns.v[k].type, &t->cells.v[row * t->columns.n + k]);
    }
    putc('}', f);
}

void report_json(FILE *f, const struct result *r, size_t top)
{
    putc('{', f);
    for (size_t i = 0; i < r->tables.n; i++) {
        const struct table *t = r->tables.v[i];
        fputs(i ? ", " : "", f);
        report_json_string(f, t->name);
        fputs(t->kind == TABLE_facts ? ": " : ": [", f);
        for (size_t row = 0; row < shown(t, top); row++) {
            fputs(row ? ", " : "", f);
            json_row(f, t, row);
        }
        if (t->kind != TABLE_facts)
            putc(']', f);
        else if (!table_rows(t))
            fputs("{}", f);
    }
    fputs("}\n", f);
}

/* -- CSV ---------------------------------------------------------------------------------------- */

static void csv_text(FILE *f, const char *s)
{
    if (!strpbrk(s, ",\"\n\r")) {
        fputs(s, f);
        return;
    }
    putc('"', f);
    for (; *s; s++) {
        if (*s == '"')
            putc('"', f);
        putc(*s, f);
    }
    putc('"', f);
}

void report_csv(FILE *f, const struct result *r, size_t top)
{
    for (size_t i = 0; i < r->tables.n; i++) {
        const struct table *t = r->tables.v[i];
        fprintf(f, "%s# %s\n", i ? "\n" : "", t->name);
        for (size_t k = 0; k < t->columns.n; k++) {
            fputs(k ? "," : "", f);
            csv_text(f, t->columns.v[k].name);
        }
        putc('\n', f);
        for (size_t row = 0; row < shown(t, top); row++)
            for (size_t k = 0; k < t->columns.n; k++) {
                const union cell *c = &t->cells.v[row * t->columns.n + k];
                fputs(k ? "," : "", f);
                if (t->columns.v[k].type == CELL_text)
                    csv_text(f, c->text ? c->text : "");
                else
                    json_cell(f, t->columns.v[k].type, c);
                if (k + 1 == t->columns.n)
                    putc('\n', f);
            }
    }
}
