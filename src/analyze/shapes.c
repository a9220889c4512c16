/* SPDX-License-Identifier: MIT */
/* Rows of static references, sorted by how often they were made. */
#include "analyze/shapes.h"
#include "analyze/interleave.h"
#include "analyze/phrases.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

/* A static reference of a process; merged: a descriptor. */
struct row {
    const struct pattern_memory *memory;
    struct static_ref ref;
    struct source place;
    const struct stream *stream;      /* the one of the thread that made it most often */
    const struct descriptor *only;    /* merged; else NULL */
    u64 refs, most;                   /* in all, and of that thread */
    u64 covered, threads, rsds, prsds, iads;
};

struct shapes {
    const struct shapes_options *options;
    VEC(struct row) rows;
    u64 refs[FOUND_AS], ordered;
    u64 rsds, prsds, iads, bytes;
    u64 streams, wrong; /* all, and those that did not expand to what was given */
};

/* -- Collecting --------------------------------------------------------------------------------- */

static void add_stream(struct shapes *s, const struct stream *x)
{
    const struct findings *f = &x->at;
    for (u32 k = 0; k < FOUND_AS; k++)
        s->refs[k] += f->refs[k];
    s->ordered += x->order.refs[FOUND_rsd] + x->order.refs[FOUND_prsd];
    s->rsds += f->rsds;
    s->prsds += f->prsds;
    s->iads += f->iads;
    s->bytes += findings_bytes(f);
    s->streams++;
    s->wrong += s->options->check && !stream_is_exact(x);
}

static void add_to_row(struct row *w, const struct stream *x)
{
    const struct findings *f = &x->at;
    const u64 refs = findings_refs(f);
    if (!w->stream || refs > w->most || (refs == w->most && x->thread < w->stream->thread)) {
        w->stream = x;
        w->most = refs;
    }
    w->refs += refs;
    w->covered += f->refs[FOUND_rsd] + f->refs[FOUND_prsd];
    w->threads++;
    w->rsds += f->rsds;
    w->prsds += f->prsds;
    w->iads += f->iads;
}

/* The threads' streams of each static reference become one row. */
static void add_memory(struct shapes *s, const struct pattern_memory *m)
{
    const size_t n = m->statics.refs.n;
    struct row *rows = calloc(MAX(n, 1ul), sizeof *rows);
    check(rows != NULL);
    for (u32 k = 0; k < m->n_parts; k++)
        for (size_t i = 0; i < m->parts[k].all.n; i++) {
            const struct stream *x = m->parts[k].all.v[i];
            add_stream(s, x);
            add_to_row(&rows[x->number], x);
        }
    for (size_t i = 0; i < n; i++)
        if (rows[i].stream) {
            rows[i].memory = m;
            rows[i].ref = m->statics.refs.v[i];
            vec_push(&s->rows, rows[i]);
        }
    free(rows);
}

static void add_descriptor(struct shapes *s, const struct pattern_memory *m, const struct stream *x,
                           const struct descriptor *d)
{
    struct row w = {.memory = m,
                    .ref = m->statics.refs.v[d->source],
                    .stream = x,
                    .only = d,
                    .refs = descriptor_refs(d),
                    .threads = 1,
                    .rsds = d->depth ? 1 : 0,
                    .prsds = d->depth ? d->depth - 1 : 0,
                    .iads = !d->depth};
    w.ref.type = d->type;
    w.covered = d->depth ? w.refs : 0;
    vec_push(&s->rows, w);
}

static void add_merged(struct shapes *s, const struct pattern_memory *m)
{
    for (size_t i = 0; i < m->parts->all.n; i++) {
        const struct stream *x = m->parts->all.v[i];
        add_stream(s, x);
        for (u32 k = 0; k < x->at.n_kept; k++)
            add_descriptor(s, m, x, x->at.kept[k]);
    }
}

/* -- Order -------------------------------------------------------------------------------------- */

static int compare(u64 a, u64 b)
{
    return a < b ? -1 : a > b;
}

/* Nothing that depends on how units were made: a live program and its trace give the same order. */
static int by_refs(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = compare(y->refs, x->refs);
    if (!order)
        order = compare(x->memory->number, y->memory->number);
    if (!order)
        order = compare(x->ref.pc, y->ref.pc);
    if (!order)
        order = compare(x->ref.operand, y->ref.operand);
    if (!order)
        order = compare(x->ref.type, y->ref.type);
    if (!order)
        order = compare(x->stream->thread, y->stream->thread);
    return order || !x->only ? order : compare(x->only->place, y->only->place);
}

/* -- Texts -------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    return compare((*(struct descriptor *const *)a)->place, (*(struct descriptor *const *)b)->place);
}

static void print_kept(FILE *f, const struct findings *x, const char *type)
{
    const size_t size = x->n_kept * sizeof *x->kept;
    struct descriptor **sorted = malloc(MAX(size, 1ul));
    check(sorted != NULL);
    memcpy(sorted, x->kept, size);
    qsort(sorted, x->n_kept, sizeof *sorted, by_place);
    for (u32 i = 0; i < x->n_kept; i++) {
        fputs(i ? "; " : "", f);
        descriptor_print(f, sorted[i], type);
    }
    if (x->rsds + x->iads > x->n_kept)
        fprintf(f, "; and %lu more", (unsigned long)(x->rsds + x->iads - x->n_kept));
    free(sorted);
}

/* What one of these functions prints, as a text of the result. */
static const char *text_of(struct result *r, const struct row *w, void (*print)(FILE *f, const struct row *w))
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    check(f != NULL);
    print(f, w);
    fclose(f);
    const char *copy = result_text(r, text);
    free(text);
    return copy;
}

static void print_phrase(FILE *f, const struct row *w)
{
    if (w->only)
        phrase_print_one(f, w->only, w->ref.type);
    else
        phrase_print(f, &w->stream->at, w->ref.type);
}

static void print_descriptors(FILE *f, const struct row *w)
{
    if (w->only)
        descriptor_print(f, w->only, type_name(w->ref.type));
    else
        print_kept(f, &w->stream->at, type_name(w->ref.type));
}

static void print_order(FILE *f, const struct row *w)
{
    print_kept(f, &w->stream->order, "Place");
}

/* -- Tables ------------------------------------------------------------------------------------- */

static void add_facts(const struct shapes *s, struct result *r)
{
    struct table *t = result_table(r, TABLE_facts, "total", "in all");
    const u64 regular = s->refs[FOUND_rsd] + s->refs[FOUND_prsd], all = regular + s->refs[FOUND_irregular];
    fact_count(t, "references", "references", all);
    fact_percent(t, "covered", "... in regular sections (RSDs)", regular, all);
    fact_percent(t, "nested", "... that are repeated (PRSDs)", s->refs[FOUND_prsd], all);
    fact_percent(t, "irregular", "... irregular (IADs)", s->refs[FOUND_irregular], all);
    if (!s->options->merged)
        fact_percent(t, "ordered", "... whose turn comes regularly", s->ordered, all);
    fact_count(t, "streams", s->options->merged ? "threads" : "static references, by thread", s->streams);
    fact_count(t, "rsds", "RSDs", s->rsds);
    fact_count(t, "prsds", "PRSDs", s->prsds);
    fact_count(t, "iads", "IADs", s->iads);
    fact_count(t, "bytes", "bytes of descriptors", s->bytes);
    if (s->options->check) {
        r->failed |= s->wrong;
        fact_text(t, "expanded", "expanded, they are the references that were made", s->wrong ? "no" : "yes, all");
        fact_count(t, "unequal", "streams that are not", s->wrong);
    }
    if (s->options->unwritten)
        fact_text(t, "unwritten", "could not be written", s->options->unwritten);
}

static void add_rows(const struct shapes *s, struct result *r)
{
    static const struct table_column columns[] = {
        {"id", NULL, CELL_text},          {"references", NULL, CELL_count},
        {"covered", NULL, CELL_percent},  {"kind", NULL, CELL_text},
        {"size", NULL, CELL_count},       {"file", NULL, CELL_text},
        {"line", NULL, CELL_count},       {"function", NULL, CELL_text},
        {"pattern", NULL, CELL_text},     {"rsds", NULL, CELL_count},
        {"prsds", NULL, CELL_count},      {"iads", NULL, CELL_count},
        {"operand", NULL, CELL_count},    {"threads", NULL, CELL_count},
        {"offset", NULL, CELL_address},   {"module", NULL, CELL_text},
        {"descriptors", NULL, CELL_text}, {"order", NULL, CELL_text},
    };
    struct table *t = result_table(r, TABLE_rows, "patterns", "how references go through memory");
    for (u32 k = 0; k < ARRAY_LEN(columns) - s->options->merged; k++)
        table_add_column(t, columns[k].type, columns[k].name, NULL);
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct row *w = &s->rows.v[i];
        char id[24];
        snprintf(id, sizeof id, "R%zu", i + 1);
        table_row(t, id, w->refs, w->refs ? 100.0 * (double)w->covered / (double)w->refs : 0.0,
                  type_name(w->ref.type), (u64)type_size(w->ref.type), w->place.at.file,
                  (u64)w->place.at.line, w->place.at.function, text_of(r, w, print_phrase), w->rsds,
                  w->prsds, w->iads, (u64)w->ref.operand, w->threads, w->place.offset,
                  w->place.module ? w->place.module->path : NULL, text_of(r, w, print_descriptors),
                  s->options->merged ? NULL : text_of(r, w, print_order));
    }
}

/* -- Turns -------------------------------------------------------------------------------------- */

struct strands {
    VEC(struct strand) of;
};

/* The rows whose references of this thread come in one regular order. */
static void find_strands(const struct shapes *s, const struct pattern_memory *m, u32 thread, struct strands *to)
{
    to->of.n = 0;
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct stream *x = s->rows.v[i].stream;
        const struct descriptor *d = x->thread == thread ? findings_only(&x->order) : NULL;
        if (s->rows.v[i].memory != m || !d || !d->depth)
            continue;
        const struct descriptor *at = findings_largest(&x->at);
        struct strand a = {.loop = d->loop,
                           .depth = d->depth,
                           .data = (u32)i + 1,
                           .first = d->start,
                           .length = 1,
                           .refs = 1,
                           .address = at ? at->start : 0};
        vec_push(&to->of, a);
    }
}

static void name(char text[24], const struct strand *s, size_t before)
{
    snprintf(text, 24, "%s%zu", s->is_ds ? "DS" : "R", s->data + (s->is_ds ? before + 1 : 0));
}

static void add_turns(const struct shapes *s, const struct pattern_memory *m, u32 thread, struct table *t)
{
    struct strands strands = {0};
    struct data_streams found = {0};
    const size_t before = table_rows(t);
    find_strands(s, m, thread, &strands);
    interleave(strands.of.v, strands.of.n, &found);
    for (size_t i = 0; i < found.of.n; i++) {
        const struct data_stream *d = &found.of.v[i];
        char self[24], first[24], second[24];
        name(self, &(struct strand){.is_ds = true, .data = (u32)i}, before);
        name(first, &d->primary, before);
        name(second, &d->secondary, before);
        table_row(t, self, first, second, d->pp, d->pk, d->sk, d->refs, (u64)thread);
    }
    vec_fini(&found.of);
    vec_fini(&strands.of);
}

static void add_streams(const struct shapes *s, struct pattern_memory *const *memories, size_t n, struct result *r)
{
    struct table *t = result_table(r, TABLE_rows, "streams", "how they take turns (DS): pp of the primary, then sk of the secondary and pk of the primary, again and again");
    table_add_column(t, CELL_text, "id", NULL);
    table_add_column(t, CELL_text, "primary", NULL);
    table_add_column(t, CELL_text, "secondary", NULL);
    table_add_column(t, CELL_count, "pp", NULL);
    table_add_column(t, CELL_count, "pk", NULL);
    table_add_column(t, CELL_count, "sk", NULL);
    table_add_column(t, CELL_count, "references", NULL);
    table_add_column(t, CELL_count, "thread", NULL);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < memories[i]->parts->threads.n; k++)
            add_turns(s, memories[i], memories[i]->parts->threads.v[k].thread, t);
}

void shapes_result(struct pattern_memory *const *memories, size_t n, const struct shapes_options *o,
                   struct sources *sources, struct result *r)
{
    struct shapes s = {.options = o};
    for (size_t i = 0; i < n; i++)
        if (o->merged)
            add_merged(&s, memories[i]);
        else
            add_memory(&s, memories[i]);
    for (size_t i = 0; i < s.rows.n; i++)
        s.rows.v[i].place = sources_find(sources, s.rows.v[i].memory->number, s.rows.v[i].ref.pc);
    if (s.rows.n)
        qsort(s.rows.v, s.rows.n, sizeof *s.rows.v, by_refs);
    add_facts(&s, r);
    add_rows(&s, r);
    if (!o->merged)
        add_streams(&s, memories, n, r);
    vec_fini(&s.rows);
}
