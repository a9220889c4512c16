/* SPDX-License-Identifier: MIT */
/* Rows of static references, sorted by how often they were made. */
#include "analyze/shapes.h"
#include "analyze/interleave.h"
#include "analyze/phrases.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_ROOM = 24, TEXT_ROOM = 1024 };

/* A static reference of a process; merged: a descriptor. */
struct row {
    const struct pattern_memory *memory;
    struct static_ref ref;
    u32 number;                          /* of that */
    const struct stream *const *streams; /* of all threads, by their numbers; merged: of the one */
    const struct stream *stream;         /* the one of the thread that made it most often */
    const struct descriptor *only;       /* merged; else NULL */
    u64 refs, most;                      /* in all, and of that thread */
    u64 covered, threads, rsds, prsds, iads;
};

struct shapes {
    const struct shapes_options *options;
    struct arena arena; /* of arrays of streams */
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
    if (!w->stream || refs > w->most) {
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

static int compare(u64 a, u64 b)
{
    return a < b ? -1 : a > b;
}

static int by_number(const void *a, const void *b)
{
    const struct stream *x = *(const struct stream *const *)a,
                        *y = *(const struct stream *const *)b;
    int order = compare(x->number, y->number);
    return order ? order : compare(x->thread, y->thread);
}

static size_t sort_streams(struct shapes *s, const struct pattern_memory *m,
                           const struct stream ***sorted)
{
    size_t n = 0;
    for (u32 k = 0; k < m->n_parts; k++)
        n += m->parts[k].all.n;
    const struct stream **at = *sorted = arena_alloc(&s->arena, n * sizeof *at);
    for (u32 k = 0; k < m->n_parts; k++)
        for (size_t i = 0; i < m->parts[k].all.n; i++)
            *at++ = m->parts[k].all.v[i];
    qsort(*sorted, n, sizeof **sorted, by_number);
    return n;
}

/* The threads' streams of each static reference become one row. */
static void add_memory(struct shapes *s, const struct pattern_memory *m)
{
    const struct stream **sorted;
    const size_t n = sort_streams(s, m, &sorted);
    for (size_t i = 0; i < n;) {
        const u32 number = sorted[i]->number;
        struct row w = {
            .memory = m, .ref = m->statics.refs.v[number], .number = number, .streams = &sorted[i]};
        for (; i < n && sorted[i]->number == number; i++) {
            add_stream(s, sorted[i]);
            add_to_row(&w, sorted[i]);
        }
        vec_push(&s->rows, w);
    }
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

/* What is written to it becomes a text of the result. */
struct writer {
    FILE *f;
    char *text;
    size_t size;
};

static FILE *write_begin(struct writer *w)
{
    w->f = open_memstream(&w->text, &w->size);
    check(w->f != NULL);
    return w->f;
}

static const char *write_end(struct writer *w, struct result *r)
{
    fclose(w->f);
    const char *copy = result_text(r, w->text);
    free(w->text);
    return copy;
}

static const char *phrase_of(struct result *r, const struct row *x)
{
    struct writer w;
    FILE *f = write_begin(&w);
    if (x->only)
        phrase_print_one(f, x->only, x->ref.type);
    else
        phrase_print(f, &x->stream->at, x->ref.type);
    return write_end(&w, r);
}

static const char *notation_of(struct result *r, const struct descriptor *d, const char *type)
{
    struct writer w;
    descriptor_print(write_begin(&w), d, type);
    return write_end(&w, r);
}

/* -- Tables ------------------------------------------------------------------------------------- */

static void add_facts(const struct shapes *s, struct result *r)
{
    struct table *t = result_table(r, TABLE_facts, "total", "in all");
    const u64 regular = s->refs[FOUND_rsd] + s->refs[FOUND_prsd],
              all = regular + s->refs[FOUND_irregular];
    fact_count(t, "references", "references", all);
    fact_percent(t, "covered", "... in regular sections (RSDs)", regular, all);
    fact_percent(t, "nested", "... that are repeated (PRSDs)", s->refs[FOUND_prsd], all);
    fact_percent(t, "irregular", "... irregular (IADs)", s->refs[FOUND_irregular], all);
    if (!s->options->merged)
        fact_percent(t, "ordered", "... whose turn comes regularly", s->ordered, all);
    fact_count(t, "streams", s->options->merged ? "threads" : "static references, by thread",
               s->streams);
    fact_count(t, "rsds", "RSDs", s->rsds);
    fact_count(t, "prsds", "PRSDs", s->prsds);
    fact_count(t, "iads", "IADs", s->iads);
    fact_count(t, "bytes", "bytes of descriptors", s->bytes);
    if (s->options->check) {
        r->failed |= s->wrong;
        fact_text(t, "expanded", "expanded, they are the references that were made",
                  s->wrong ? "no" : "yes, all");
        fact_count(t, "unequal", "streams that are not", s->wrong);
    }
    if (variables_trouble(s->options->variables))
        fact_text(t, "missing", "not known", variables_trouble(s->options->variables));
    if (s->options->unwritten)
        fact_text(t, "unwritten", "could not be written", s->options->unwritten);
}

static void add_rows(const struct shapes *s, struct sources *sources, struct result *r)
{
    static const struct table_column columns[] = {
        {"id", NULL, CELL_text},         {"references", NULL, CELL_count},
        {"covered", NULL, CELL_percent}, {"kind", NULL, CELL_text},
        {"size", NULL, CELL_count},      {"file", NULL, CELL_text},
        {"line", NULL, CELL_count},      {"function", NULL, CELL_text},
        {"variables", NULL, CELL_text},
        {"pattern", NULL, CELL_text},    {"rsds", NULL, CELL_count},
        {"prsds", NULL, CELL_count},     {"iads", NULL, CELL_count},
        {"operand", NULL, CELL_count},   {"threads", NULL, CELL_count},
        {"offset", NULL, CELL_address},  {"module", NULL, CELL_text},
    };
    struct table *t = result_table(r, TABLE_rows, "patterns", "how references go through memory");
    for (u32 k = 0; k < ARRAY_LEN(columns); k++)
        table_add_column(t, columns[k].type, columns[k].name, NULL);
    const size_t n = MIN(s->rows.n, table_room(t));
    for (size_t i = 0; i < n; i++) {
        const struct row *w = &s->rows.v[i];
        const struct source place = sources_find(sources, w->memory->number, w->ref.pc);
        char id[NAME_ROOM], text[TEXT_ROOM];
        const char *variables = w->only
                                    ? NULL
                                    : aims_text(&w->memory->aims[w->number % w->memory->n_parts],
                                                w->number / w->memory->n_parts,
                                                s->options->variables, text, sizeof text);
        snprintf(id, sizeof id, "R%zu", i + 1);
        table_row(t, id, w->refs, w->refs ? 100.0 * (double)w->covered / (double)w->refs : 0.0,
                  type_name(w->ref.type), (u64)type_size(w->ref.type), place.at.file,
                  (u64)place.at.line, place.at.function, variables, phrase_of(r, w), w->rsds,
                  w->prsds, w->iads, (u64)w->ref.operand, w->threads, place.offset,
                  place.module ? place.module->path : NULL);
    }
    table_leave_out(t, s->rows.n - n);
}

static int by_place(const void *a, const void *b)
{
    return compare((*(struct descriptor *const *)a)->place,
                   (*(struct descriptor *const *)b)->place);
}

/* Those of a row that were kept, as they begin. */
static void add_kept(struct table *t, const char *id, const struct findings *x, u32 thread,
                     const char *type)
{
    const size_t size = x->n_kept * sizeof *x->kept;
    if (!table_room(t)) {
        table_leave_out(t, x->n_kept);
        return;
    }
    struct descriptor **sorted = malloc(MAX(size, 1ul));
    check(sorted != NULL);
    memcpy(sorted, x->kept, size);
    qsort(sorted, x->n_kept, sizeof *sorted, by_place);
    for (u32 i = 0; i < x->n_kept; i++)
        table_row(t, id, descriptor_refs(sorted[i]), (u64)thread,
                  notation_of(t->result, sorted[i], type));
    free(sorted);
}

static struct table *descriptor_table(struct result *r, const char *name, const char *title)
{
    struct table *t = result_table(r, TABLE_rows, name, title);
    table_add_column(t, CELL_text, "id", NULL);
    table_add_column(t, CELL_count, "references", NULL);
    table_add_column(t, CELL_count, "thread", NULL);
    table_add_column(t, CELL_text, "descriptor", NULL);
    return t;
}

static void add_descriptors(const struct shapes *s, struct result *r)
{
    struct table *t =
        descriptor_table(r, "descriptors", "their descriptors: <start, length, stride, ..>");
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct row *w = &s->rows.v[i];
        char id[NAME_ROOM];
        snprintf(id, sizeof id, "R%zu", i + 1);
        if (w->only && !table_room(t))
            table_leave_out(t, 1);
        else if (w->only)
            table_row(t, id, w->refs, (u64)w->stream->thread,
                      notation_of(r, w->only, type_name(w->ref.type)));
        for (u64 k = 0; k < w->threads && !w->only; k++)
            add_kept(t, id, &w->streams[k]->at, w->streams[k]->thread, type_name(w->ref.type));
    }
}

static void add_order(const struct shapes *s, struct result *r)
{
    struct table *t =
        descriptor_table(r, "order", "their places among all references of the thread");
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct row *w = &s->rows.v[i];
        char id[NAME_ROOM];
        snprintf(id, sizeof id, "R%zu", i + 1);
        for (u64 k = 0; k < w->threads; k++)
            add_kept(t, id, &w->streams[k]->order, w->streams[k]->thread, "Place");
    }
}

/* -- Turns -------------------------------------------------------------------------------------- */

/* A data stream, its number, and the number of the first of its thread, which those it is made of count from. */
struct turn {
    struct data_stream d;
    u32 thread;
    size_t number, first;
};

struct turns {
    VEC(struct turn) of;
};

/* The stream of a row, and whose it is. */
struct whose {
    const struct pattern_memory *memory;
    const struct stream *stream;
    u32 row;
};

static int by_thread(const void *a, const void *b)
{
    const struct whose *x = a, *y = b;
    int order = compare(x->memory->number, y->memory->number);
    if (!order)
        order = compare(x->stream->thread, y->stream->thread);
    return order ? order : compare(x->row, y->row);
}

static struct strand strand_of(const struct stream *x, u32 row)
{
    const struct descriptor *when = findings_only(&x->order), *where = findings_largest(&x->at);
    return (struct strand){.loop = when->loop,
                           .depth = when->depth,
                           .data = row + 1,
                           .first = when->start,
                           .length = 1,
                           .refs = 1,
                           .address = where ? where->start : 0};
}

/* How these streams of one thread take turns. */
static void add_turns(const struct whose *of, size_t n, struct turns *to)
{
    struct strand *strands = malloc(n * sizeof *strands);
    struct data_streams found = {0};
    const size_t first = to->of.n + 1;
    check(strands != NULL);
    for (size_t i = 0; i < n; i++)
        strands[i] = strand_of(of[i].stream, of[i].row);
    interleave(strands, n, &found);
    for (size_t i = 0; i < found.of.n; i++)
        vec_push(&to->of, ((struct turn){found.of.v[i], of->stream->thread, first + i, first}));
    vec_fini(&found.of);
    free(strands);
}

/* Those that come in one regular order, thread by thread. */
static void find_turns(const struct shapes *s, struct turns *to)
{
    VEC(struct whose) all = {0};
    for (u32 i = 0; i < s->rows.n; i++)
        for (u64 k = 0; k < s->rows.v[i].threads; k++) {
            struct whose w = {s->rows.v[i].memory, s->rows.v[i].streams[k], i};
            const struct descriptor *when = findings_only(&w.stream->order);
            if (when && when->depth)
                vec_push(&all, w);
        }
    if (all.n)
        qsort(all.v, all.n, sizeof *all.v, by_thread);
    for (size_t i = 0, k; i < all.n; i = k) {
        for (k = i + 1; k < all.n && all.v[k].memory == all.v[i].memory &&
                        all.v[k].stream->thread == all.v[i].stream->thread;)
            k++;
        add_turns(&all.v[i], k - i, to);
    }
    vec_fini(&all);
}

static int by_turns(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    int order = compare(y->d.refs, x->d.refs);
    return order ? order : compare(x->number, y->number);
}

static const char *name(char room[NAME_ROOM], const struct turn *t, const struct strand *s)
{
    snprintf(room, NAME_ROOM, "%s%zu", s->is_ds ? "DS" : "R", s->data + (s->is_ds ? t->first : 0));
    return room;
}

static void add_turn(struct table *t, const struct turn *x)
{
    char self[NAME_ROOM], primary[NAME_ROOM], secondary[NAME_ROOM];
    snprintf(self, sizeof self, "DS%zu", x->number);
    table_row(t, self, name(primary, x, &x->d.primary), name(secondary, x, &x->d.secondary),
              x->d.pp, x->d.pk, x->d.sk, x->d.refs, (u64)x->thread);
}

static void add_streams(const struct shapes *s, struct result *r)
{
    static const struct table_column columns[] = {
        {"id", NULL, CELL_text},          {"primary", NULL, CELL_text},
        {"secondary", NULL, CELL_text},   {"pp", NULL, CELL_count},
        {"pk", NULL, CELL_count},         {"sk", NULL, CELL_count},
        {"references", NULL, CELL_count}, {"thread", NULL, CELL_count},
    };
    struct table *t = result_table(r, TABLE_rows, "streams", "how they take turns");
    struct turns all = {0};
    for (u32 k = 0; k < ARRAY_LEN(columns); k++)
        table_add_column(t, columns[k].type, columns[k].name, NULL);
    find_turns(s, &all);
    if (all.of.n)
        qsort(all.of.v, all.of.n, sizeof *all.of.v, by_turns);
    const size_t n = MIN(all.of.n, table_room(t));
    for (size_t i = 0; i < n; i++)
        add_turn(t, &all.of.v[i]);
    table_leave_out(t, all.of.n - n);
    vec_fini(&all.of);
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
    if (s.rows.n)
        qsort(s.rows.v, s.rows.n, sizeof *s.rows.v, by_refs);
    add_facts(&s, r);
    add_rows(&s, sources, r);
    add_descriptors(&s, r);
    if (!o->merged) {
        add_streams(&s, r);
        add_order(&s, r);
    }
    vec_fini(&s.rows);
    arena_fini(&s.arena);
}
