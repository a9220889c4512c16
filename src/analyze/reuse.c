/* SPDX-License-Identifier: MIT */
/* The analysis `reuse`: how many different lines are touched between two touches of one, for each thread and all together.
 *
 * Works are spans (spans.h); they are taken by a stack for each process and, if asked for, one for each thread. */
#include "analyze/analysis.h"
#include "analyze/machine.h"
#include "analyze/spots.h"
#include "analyze/stack.h"
#include "analyze/values.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_LINE = 16, GREATEST_LINE = 4096, LEAST_BEYOND = 4 /* lines */, SAMPLE_LIMIT = 20 };

/* Counts of a place: accesses, cold ones, and those beyond each size. */
enum { COUNT_accesses, COUNT_cold, COUNT_beyond };

/* What is left of a thread's stack. */
struct thread_distances {
    struct distances_owner owner;
    u64 lines;
    struct distances *distances;
};

struct reuse {
    struct span_options spans;
    u64 beyond[FARS]; /* bytes */
    u32 sample;              /* log2; at the end the greatest there was */
    u32 limit;               /* of lines; 0: none */
    bool by_thread;
    u32 parts;
    struct distances whole;
    u64 lines, sampled;
    struct spots spots;
    VEC(struct thread_distances) threads;
};

/* Stacks of threads that the same part takes. */
struct reuse_part {
    VEC(struct stack *) by_thread; /* by the thread's number */
};

struct reuse_memory {
    struct reuse *reuse;
    const struct unit_table *table;
    u32 number;
    struct stack whole;
    struct fars fars;
    struct reuse_part *parts;
    pthread_mutex_t lock;                   /* guards what follows */
    VEC(struct spanner *) spanners, all_spanners; /* free ones, and all */
};

struct reuse_work {
    struct reuse_memory *memory;
    struct spans spans;
};

/* -- Options ------------------------------------------------------------------------------------ */

static int set_line(struct reuse *x, const char *value, struct err *e)
{
    u64 n;
    if (!value_power_of_two(value, &n) || n < LEAST_LINE || n > GREATEST_LINE)
        return err_set(e, "wants a power of two between %d and %d", LEAST_LINE, GREATEST_LINE);
    x->spans.log2 = (u32)__builtin_ctzll(n);
    return 0;
}

static int set_of(struct reuse *x, const char *value, struct err *e)
{
    return value_accessed(&x->spans.of, value, e);
}

static int set_beyond(struct reuse *x, const char *value, struct err *e)
{
    const char *at = value;
    u32 n = 0;
    for (bool more = true; more; more = *at == ',' && *at++) {
        u64 size;
        if (n == FARS || !value_size(&at, &size) || (n && size <= x->beyond[n - 1]))
            return err_set(e, "wants up to %d sizes in bytes that go up, not %s", FARS, value);
        x->beyond[n++] = size;
    }
    x->spans.far.n = n;
    return *at ? err_set(e, "wants sizes with commas between them, not %s", value) : 0;
}

static int set_sample(struct reuse *x, const char *value, struct err *e)
{
    u64 n;
    if (!value_power_of_two(value, &n) || n > 1u << SAMPLE_LIMIT)
        return err_set(e, "wants a power of two up to %d", 1 << SAMPLE_LIMIT);
    x->sample = (u32)__builtin_ctzll(n);
    return 0;
}

static int set_memory(struct reuse *x, const char *value, struct err *e)
{
    u64 n;
    if (!value_size(&value, &n) || *value || !(x->limit = stack_limit(n)))
        return err_set(e, "wants a size of at least 1M");
    return 0;
}

static int reuse_set(void *reuse, const char *option, const char *value, struct err *e)
{
    struct reuse *x = reuse;
    static const struct {
        const char *name;
        int (*set)(struct reuse *x, const char *value, struct err *e);
    } sets[] = {{"line", set_line},     {"of", set_of},         {"beyond", set_beyond},
                {"sample", set_sample}, {"memory", set_memory}};
    for (u32 i = 0; i < ARRAY_LEN(sets); i++)
        if (!strcmp(option, sets[i].name))
            return sets[i].set(x, value, e);
    if (!strcmp(option, "by"))
        return spots_by(&x->spots, value, e);
    x->by_thread = true;
    return 0;
}

static const struct analysis_option options[] = {
    {"line", "BYTES", "how long a line is; 64 by default"},
    {"of", "data|code|both", "what is counted: references (the default), instructions, or both"},
    {"threads", NULL, "the distances of each thread, too"},
    {"by", "function|line|instruction", "what a row of the table of places stands for"},
    {"beyond", "SIZE,..", "count distances beyond these sizes by place; else the machine's caches"},
    {"sample", "N", "look at one line in N, a power of two"},
    {"memory", "SIZE", "look at as many lines as fit: fewer and fewer, if there are many"},
    {0},
};

/* -- The study ---------------------------------------------------------------------------------- */

static void *reuse_make(void)
{
    struct reuse *x = zeros(1, sizeof *x);
    x->spans.of = ACCESSED_data;
    x->spans.log2 = 6;
    return x;
}

/* The sizes of this machine's caches that hold data, or what is common. */
static void machine_sizes(struct reuse *x)
{
    static const u64 common[] = {32 << 10, 1 << 20, 32 << 20};
    u32 n = 0;
    for (u32 i = 0; i < MACHINE_CACHES && n < FARS; i++) {
        struct machine_cache c = machine_cache(i);
        if (c.level && c.for_data && c.size && (!n || c.size > x->beyond[n - 1]))
            x->beyond[n++] = c.size;
    }
    for (; n < ARRAY_LEN(common) && (!n || common[n] > x->beyond[n - 1]); n++)
        x->beyond[n] = common[n];
    x->spans.far.n = n;
}

static int reuse_begin(void *reuse, u32 workers, struct err *e)
{
    struct reuse *x = reuse;
    const u64 line = 1ull << x->spans.log2;
    if (!x->spans.far.n)
        machine_sizes(x);
    if (x->beyond[0] < LEAST_BEYOND * line)
        return err_set(e, "--beyond wants sizes of at least %d lines", LEAST_BEYOND);
    if (x->limit && (x->by_thread || x->sample))
        return err_set(e, "--memory cannot be given with --%s", x->sample ? "sample" : "threads");
    for (u32 i = 0; i < FARS; i++)
        x->spans.far.least[i] = i < x->spans.far.n ? (x->beyond[i] + line - 1) / line : UINT64_MAX;
    x->spans.lists = x->limit;
    x->spots.n_counts = COUNT_beyond + x->spans.far.n;
    x->parts = x->by_thread ? workers : 1;
    return (int)x->parts;
}

static void reuse_drop(void *reuse)
{
    struct reuse *x = reuse;
    for (size_t i = 0; i < x->threads.n; i++)
        free(x->threads.v[i].distances);
    vec_fini(&x->threads);
    spots_fini(&x->spots);
    free(x);
}

/* -- Events ------------------------------------------------------------------------------------- */

static void *reuse_memory(void *reuse, u32 number, const struct unit_table *t)
{
    struct reuse *x = reuse;
    struct reuse_memory *m = zeros(1, sizeof *m);
    m->reuse = x;
    m->table = t;
    m->number = number;
    m->fars.limits = &x->spans.far;
    m->parts = zeros(x->parts, sizeof *m->parts);
    stack_init(&m->whole, x->sample, x->limit, &m->fars);
    check(pthread_mutex_init(&m->lock, NULL) == 0);
    return m;
}

static void *reuse_work(void *memory)
{
    struct reuse_work *w = zeros(1, sizeof *w);
    w->memory = memory;
    return w;
}

static void reuse_open(void *work, u32 thread)
{
    struct reuse_work *w = work;
    spans_reset(&w->spans, thread);
}

/* There are as many spanners as threads make spans at the same time: they are large, and works are many. */
static struct spanner *take_spanner(struct reuse_memory *m)
{
    pthread_mutex_lock(&m->lock);
    struct spanner *s = m->spanners.n ? m->spanners.v[--m->spanners.n] : NULL;
    if (!s) {
        s = spanner_new(&m->reuse->spans, m->table);
        vec_push(&m->all_spanners, s);
    }
    pthread_mutex_unlock(&m->lock);
    return s;
}

static void give_back_spanner(struct reuse_memory *m, struct spanner *s)
{
    pthread_mutex_lock(&m->lock);
    vec_push(&m->spanners, s);
    pthread_mutex_unlock(&m->lock);
}

static void reuse_add(void *work, const struct events *e)
{
    struct reuse_work *w = work;
    struct spanner *s = take_spanner(w->memory);
    spanner_add(s, e, load_relaxed(&w->memory->whole.sample), &w->spans);
    give_back_spanner(w->memory, s);
}

static struct stack *stack_of(struct reuse_memory *m, struct reuse_part *p, u32 thread)
{
    vec_reach(&p->by_thread, thread);
    struct stack **k = &p->by_thread.v[thread];
    if (!*k) {
        *k = zeros(1, sizeof **k);
        stack_init(*k, m->reuse->sample, 0, NULL);
    }
    return *k;
}

/* The first part takes the whole, and the others the threads, each its own; if there is only one, it takes all. */
static void reuse_take(void *memory, void *work, u32 part)
{
    struct reuse_memory *m = memory;
    struct reuse_work *w = work;
    const struct reuse *x = m->reuse;
    const u32 thread = w->spans.thread, mine = x->parts > 1 ? 1 + thread % (x->parts - 1) : 0;
    if (part == 0)
        stack_take(&m->whole, &w->spans);
    if (x->by_thread && part == mine)
        stack_take(stack_of(m, &m->parts[part], thread), &w->spans);
}

static void reuse_merge(void *memory, void *work)
{
    struct reuse_work *w = work;
    (void)memory;
    spans_fini(&w->spans);
    free(w);
}

/* -- The end of a process ----------------------------------------------------------------------- */

static void add_far(u64 *count, const struct far *f, u32 n_beyond)
{
    count[COUNT_cold] += f->cold;
    for (u32 k = 0; k < n_beyond; k++)
        count[COUNT_beyond + k] += f->beyond[k];
}

/* What happened at a reference or instruction, as all that have counted say. */
static void add_place(const struct reuse_memory *m, u32 i, bool code, u64 *count)
{
    u32 n = m->reuse->spans.far.n;
    const struct fars *f = &m->fars;
    if (i < (code ? f->insns.n : f->refs.n))
        add_far(count, code ? &f->insns.v[i] : &f->refs.v[i], n);
    for (size_t k = 0; k < m->all_spanners.n; k++) {
        const struct span_sites *s = spanner_sites(m->all_spanners.v[k]);
        if (i < (code ? s->insns.n : s->refs.n))
            count[COUNT_accesses] += code ? s->insns.v[i].accesses : s->refs.v[i].accesses;
        if (i < (code ? s->fars.insns.n : s->fars.refs.n))
            add_far(count, code ? &s->fars.insns.v[i] : &s->fars.refs.v[i], n);
    }
}

static void add_unit(struct reuse_memory *m, const struct unit *u)
{
    const struct unit_table *t = m->table;
    u32 j = u->ref0;
    for (u32 i = u->insn0; i < u->insn0 + u->n_insns; i++) {
        u64 count[SPOT_COUNTS] = {0};
        add_place(m, i, true, count);
        for (; j < u->ref0 + u->n_refs && t->refs.v[j].insn == i - u->insn0; j++)
            add_place(m, j, false, count);
        if (count[COUNT_accesses])
            spots_add(&m->reuse->spots, m->number, t->insns.v[i].pc, count);
    }
}

static void end_thread(struct reuse_memory *m, u32 thread, struct stack *k)
{
    struct thread_distances x = {{m->number, thread}, distances_cold(&k->distances), zeros(1, sizeof *x.distances)};
    *x.distances = k->distances;
    vec_push(&m->reuse->threads, x);
    stack_fini(k);
    free(k);
}

static void end_part(struct reuse_memory *m, struct reuse_part *p)
{
    for (size_t i = 0; i < p->by_thread.n; i++)
        if (p->by_thread.v[i])
            end_thread(m, (u32)i, p->by_thread.v[i]);
    vec_fini(&p->by_thread);
}

static void end_whole(struct reuse *x, struct stack *k)
{
    distances_add(&x->whole, &k->distances);
    x->sampled += k->seen;
    x->sample = MAX(x->sample, k->sample);
    stack_fini(k);
}

static void reuse_end(void *memory)
{
    struct reuse_memory *m = memory;
    struct reuse *x = m->reuse;
    for (size_t u = 0; u < m->table->units.n; u++)
        add_unit(m, &m->table->units.v[u]);
    end_whole(x, &m->whole);
    for (u32 i = 0; i < x->parts; i++)
        end_part(m, &m->parts[i]);
    for (size_t i = 0; i < m->all_spanners.n; i++)
        spanner_free(m->all_spanners.v[i]);
    vec_fini(&m->all_spanners);
    vec_fini(&m->spanners);
    fars_fini(&m->fars);
    pthread_mutex_destroy(&m->lock);
    free(m->parts);
    free(m);
}

/* -- Results ------------------------------------------------------------------------------------ */

static void add_total(const struct reuse *x, const struct distances_view *v, struct result *r)
{
    struct table *t = result_table(r, TABLE_facts, "total", "in all");
    const struct distances *d = &x->whole;
    u64 cold = distances_cold(d);
    fact_count(t, "references", "references and instructions looked at", d->references);
    fact_count(t, "accesses", "accesses to lines", d->accesses);
    fact_count(t, "line", "bytes of a line", v->line);
    fact_count(t, "lines", "different lines", cold);
    fact_count(t, "bytes", "bytes of all lines", cold * v->line);
    fact_percent(t, "cold", "accesses to a line for the first time", cold, d->accesses);
    fact_number(t, "mean", "mean distance of all others, in lines", distances_mean(d));
    if (!v->sample)
        return;
    fact_count(t, "sample", "lines that one stands for", 1ull << v->sample);
    fact_count(t, "sampled", "lines that were looked at", x->sampled);
    fact_number(t, "error", "mean error of miss ratios, in percent of accesses", distances_error(d, v));
}

/* Sizes for people: as large a unit as gives a whole number. */
static void size_text(char text[32], u64 size)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB"};
    u32 k = 0;
    for (; k < 3 && size % 1024 == 0; k++)
        size /= 1024;
    snprintf(text, 32, "%lu %s", (unsigned long)size, units[k]);
}

/* Sizes that a sample cannot tell from smaller ones are left out, and these come first. */
static void add_places(struct reuse *x, struct sources *s, struct result *r)
{
    struct table *t = result_table(r, TABLE_rows, "rows", "where the far ones are");
    u64 least = distances_least(x->sample), weight = 0;
    table_add_column(t, CELL_count, "accesses", NULL);
    table_add_column(t, CELL_count, "cold", "for the first time");
    for (u32 k = 0; k < x->spans.far.n; k++) {
        char name[32], what[96], size[32];
        size_text(size, x->beyond[k]);
        snprintf(name, sizeof name, "beyond_%lu", (unsigned long)x->beyond[k]);
        snprintf(what, sizeof what, "missed by %s%s", size,
                 x->spans.far.least[k] < least ? " (too few were sampled to tell)" : "");
        table_add_column(t, CELL_count, name, what);
        if (x->spans.far.least[k] >= least)
            weight |= 1ull << (COUNT_beyond + k);
    }
    spots_table(&x->spots, s, weight ? weight : 1 << COUNT_cold, t);
}

static int by_owner(const void *a, const void *b)
{
    const struct distances_owner *x = &((const struct thread_distances *)a)->owner;
    const struct distances_owner *y = &((const struct thread_distances *)b)->owner;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void add_threads(struct reuse *x, const struct distances_view *v, struct result *r)
{
    struct table *all = result_table(r, TABLE_series, "threads", "threads");
    struct table *curve = distances_curve_table(r, "thread_curves", "miss ratios of threads", v, true);
    struct table *histogram = distances_histogram_table(r, "thread_histograms", "distances of threads", true);
    table_add_column(all, CELL_count, "process", NULL);
    table_add_column(all, CELL_count, "thread", NULL);
    table_add_column(all, CELL_count, "references", NULL);
    table_add_column(all, CELL_count, "accesses", NULL);
    table_add_column(all, CELL_count, "lines", NULL);
    table_add_column(all, CELL_number, "mean", NULL);
    if (x->threads.n)
        qsort(x->threads.v, x->threads.n, sizeof *x->threads.v, by_owner);
    for (size_t i = 0; i < x->threads.n; i++) {
        const struct thread_distances *y = &x->threads.v[i];
        const struct distances *d = y->distances;
        table_row(all, (u64)y->owner.process, (u64)y->owner.thread, d->references, d->accesses, y->lines,
                  distances_mean(d));
        distances_curve(d, v, &y->owner, curve);
        distances_histogram(d, v, &y->owner, histogram);
    }
}

static void reuse_finish(void *reuse, struct sources *s, struct result *r)
{
    struct reuse *x = reuse;
    const struct distances_view v = {.line = 1u << x->spans.log2, .sample = x->sample};
    add_total(x, &v, r);
    distances_curve(&x->whole, &v, NULL,
                    distances_curve_table(r, "curve", "misses of a cache that keeps the lines used latest", &v, false));
    distances_histogram(&x->whole, &v, NULL,
                        distances_histogram_table(r, "histogram", "reuse distances, in lines", false));
    if (x->by_thread)
        add_threads(x, &v, r);
    add_places(x, s, r);
}

const struct analysis analysis_reuse = {
    .name = "reuse",
    .options = options,
    .wants_memory = true,
    .make = reuse_make,
    .set = reuse_set,
    .begin = reuse_begin,
    .finish = reuse_finish,
    .drop = reuse_drop,
    .memory = reuse_memory,
    .end = reuse_end,
    .work = reuse_work,
    .open = reuse_open,
    .add = reuse_add,
    .take = reuse_take,
    .merge = reuse_merge,
};
