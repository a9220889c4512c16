/* SPDX-License-Identifier: MIT */
/* Numbers of variables for lines, in the order in which these were first lost. */
#include "analyze/lent.h"
#include "analyze/cache.h"

#include <stdio.h>
#include <stdlib.h>

static void add_number(struct lent_line *x, u32 number)
{
    for (u32 i = 0; i < x->n; i++)
        if (x->number[i] == number)
            return;
    if (x->n < LENT_NAMES && number != VARIABLE_OTHER)
        x->number[x->n++] = number;
}

static void find_names(struct lent_line *x, struct variable_part *p, u64 length)
{
    const u64 start = (x->line & LINE_NUMBER) * length;
    for (u64 at = start; at < start + length;) {
        const struct variable_stretch s = variables_stretch(p, at, VARIABLE_NO_REF);
        if (!variables_is_vague(p, s.number))
            add_number(x, s.number);
        at = s.end;
    }
}

void lent_name(struct lent *l, const struct sharing *s, struct variable_part *p, u64 length)
{
    const size_t first = l->v.n;
    for (; l->seen < s->shares.n; l->seen++)
        if (s->shares.v[l->seen].other == SHARE_LINE)
            vec_push(&l->v, ((struct lent_line){.line = s->shares.v[l->seen].line}));
    for (size_t i = first; i < l->v.n; i++)
        find_names(&l->v.v[i], p, length);
    variables_taken(p);
    for (size_t i = first; i < l->v.n; i++)
        if (!l->v.v[i].n)
            find_names(&l->v.v[i], p, length);
}

void lent_name_late(struct lent *l, u32 process, struct variable_part *p, u64 length)
{
    for (size_t i = 0; i < l->v.n; i++) {
        struct lent_line *x = &l->v.v[i];
        const u64 start = (x->line & LINE_NUMBER) * length;
        if (x->n || x->line >> 44 != process + 1)
            continue;
        for (u64 at = start; at < start + length; at += 8)
            add_number(x, variables_late(p, at));
    }
}

static int by_line(const void *a, const void *b)
{
    const struct lent_line *x = a, *y = b;
    return x->line < y->line ? -1 : x->line > y->line;
}

void lent_sort(struct lent *l)
{
    if (l->v.n)
        qsort(l->v.v, l->v.n, sizeof *l->v.v, by_line);
}

const char *lent_text(const struct lent *l, u64 line, struct variables *v, char *text, size_t room)
{
    const struct lent_line wanted = {.line = line};
    const struct lent_line *x =
        l->v.n ? bsearch(&wanted, l->v.v, l->v.n, sizeof *l->v.v, by_line) : NULL;
    size_t n = 0;
    for (u32 pass = 0; pass < 2 && !n; pass++) /* sections only if there is nothing better */
        for (u32 i = 0; x && i < x->n && n < room; i++) {
            const struct variable_name name = variables_name(v, x->number[i]);
            if (pass || strcmp(name.kind, "section"))
                n += (size_t)snprintf(text + n, room - n, "%s%s", n ? ", " : "", name.text);
        }
    return n ? text : NULL;
}

void lent_fini(struct lent *l)
{
    vec_fini(&l->v);
}
