/* SPDX-License-Identifier: MIT */
/* The analysis `budget`: what threads have used of a time budget in each of its periods, how late they were, and what they recorded.
 *
 * A period of a thread is what it recorded up to a `paused` record, which says how long that took; one in which it recorded nothing is not
 * known of. What comes behind the last such record belongs to none. */
#include "analyze/analysis.h"
#include "analyze/passes.h"
#include "wire/wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 20 /* characters that stand for all of the budget */, BAR_LIMIT = 40 };

/* What was recorded, in events. */
struct recorded {
    u64 insns, refs;
};

struct period {
    u32 process, thread, number;
    u64 used, budget, over, rate, at; /* as the record says: ticks, three times; ticks in a second, when */
    struct recorded recorded;
};

/* A thread, so far. */
struct budgeted {
    u32 process, thread, periods;
    u64 began;           /* when it was first heard of; 0: it is not known */
    struct recorded all, rest; /* in all; since its last period */
};

struct budget_study {
    VEC(struct budgeted) threads;
    VEC(struct period) periods;
};

struct budget_memory {
    struct budget_study *study;
    u32 number;
    VEC(u32) threads; /* by thread: its place in those of the study + 1 */
};

struct budget_work {
    u32 thread;
    u64 began;
    VEC(struct period) periods;
    struct recorded rest;
};

/* -- Events ------------------------------------------------------------------------------------- */

static void *budget_make(void)
{
    return zeros(1, sizeof(struct budget_study));
}

static void budget_drop(void *study)
{
    struct budget_study *s = study;
    vec_fini(&s->threads);
    vec_fini(&s->periods);
    free(s);
}

static void *budget_memory(void *study, u32 number, const struct unit_table *t)
{
    struct budget_memory *m = zeros(1, sizeof *m);
    (void)t;
    m->study = study;
    m->number = number;
    return m;
}

static void *budget_work(void *memory)
{
    (void)memory;
    return zeros(1, sizeof(struct budget_work));
}

static void budget_open(void *work, u32 thread)
{
    struct budget_work *w = work;
    w->thread = thread;
    w->began = 0;
    w->periods.n = 0;
    w->rest = (struct recorded){0};
}

static u64 slot_of(const struct events *e, u32 i, u32 slot)
{
    u64 x;
    memcpy(&x, e->records + e->batch->record_at[i] + RECORD_SLOTS_AT + 8 * slot, sizeof x);
    return x;
}

static void end_period(struct budget_work *w, const struct events *e, u32 i)
{
    struct period p = {.used = slot_of(e, i, 0), .rate = slot_of(e, i, 2), .at = slot_of(e, i, 3), .recorded = w->rest};
    s64 over = (s64)slot_of(e, i, 1);
    p.budget = p.used - (u64)over;
    p.over = over > 0 ? MIN((u64)over, p.used) : 0;
    vec_push(&w->periods, p);
    w->rest = (struct recorded){0};
}

static void budget_add(void *work, const struct events *e)
{
    struct budget_work *w = work;
    const struct batch *b = e->batch;
    struct ran ran;
    for (u32 i = 0; i < b->n_records; i++) {
        if (b->exit[i] == RECORD_paused)
            end_period(w, e, i);
        if (b->exit[i] == RECORD_state && !w->began)
            w->began = slot_of(e, i, RECORD_state_slots - 1);
        if (!events_ran(e, i, &ran))
            continue;
        w->rest.refs += b->first[i + 1] - b->first[i];
        if (!e->unfinished || i + 1 < b->n_records)
            w->rest.insns += ran.insns;
    }
}

static struct budgeted *thread_of(struct budget_memory *m, u32 thread)
{
    struct budget_study *s = m->study;
    vec_reach(&m->threads, thread);
    if (!m->threads.v[thread]) {
        vec_push(&s->threads, ((struct budgeted){.process = m->number, .thread = thread}));
        m->threads.v[thread] = (u32)s->threads.n;
    }
    return &s->threads.v[m->threads.v[thread] - 1];
}

static void add_recorded(struct recorded *to, const struct recorded *x)
{
    to->insns += x->insns;
    to->refs += x->refs;
}

static void budget_take(void *memory, void *work, u32 part)
{
    struct budget_memory *m = memory;
    struct budget_work *w = work;
    struct budgeted *t = thread_of(m, w->thread);
    (void)part;
    if (!t->began)
        t->began = w->began;
    for (size_t i = 0; i < w->periods.n; i++) {
        struct period p = w->periods.v[i];
        add_recorded(&t->all, &p.recorded);
        add_recorded(&p.recorded, &t->rest);
        t->rest = (struct recorded){0};
        p.process = t->process;
        p.thread = t->thread;
        p.number = t->periods++;
        vec_push(&m->study->periods, p);
    }
    add_recorded(&t->all, &w->rest);
    add_recorded(&t->rest, &w->rest);
}

static void budget_merge(void *memory, void *work)
{
    struct budget_work *w = work;
    (void)memory;
    vec_fini(&w->periods);
    free(w);
}

static void budget_end(void *memory)
{
    struct budget_memory *m = memory;
    vec_fini(&m->threads);
    free(m);
}

/* -- Sums --------------------------------------------------------------------------------------- */

static double micros(u64 ticks, u64 rate)
{
    return rate ? 1e6 * (double)ticks / (double)rate : 0.0;
}

static int compare(u64 a, u64 b)
{
    return a < b ? -1 : a > b;
}

static int by_thread(const void *a, const void *b)
{
    const struct period *x = a, *y = b;
    if (x->process != y->process)
        return compare(x->process, y->process);
    return x->thread != y->thread ? compare(x->thread, y->thread) : compare(x->number, y->number);
}

static int by_time(const void *a, const void *b)
{
    const struct period *x = a, *y = b;
    return x->at != y->at ? compare(x->at, y->at) : by_thread(a, b);
}

static int by_number(const void *a, const void *b)
{
    const struct budgeted *x = a, *y = b;
    return x->process != y->process ? compare(x->process, y->process) : compare(x->thread, y->thread);
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Some periods together. Late are those that used more than the budget. Microseconds. */
struct sum {
    u64 late;
    double used, over, worst;
    double median; /* of the late ones */
    double p99;    /* of all */
};

/* The least that so many percent are not above. */
static double percentile(const double *sorted, size_t n, u32 percent)
{
    return n ? sorted[(n * percent + 99) / 100 - 1] : 0.0;
}

static struct sum sum_of(const struct period *p, size_t n)
{
    struct sum s = {0};
    double *over = zeros(n, sizeof *over);
    for (size_t i = 0; i < n; i++) {
        s.used += micros(p[i].used, p[i].rate);
        s.over += over[i] = micros(p[i].over, p[i].rate);
        s.late += p[i].over != 0;
    }
    qsort(over, n, sizeof *over, by_size);
    s.median = percentile(over + (n - s.late), s.late, 50);
    s.p99 = percentile(over, n, 99);
    s.worst = percentile(over, n, 100);
    free(over);
    return s;
}

/* -- Tables ------------------------------------------------------------------------------------- */

/* The budget in microseconds; 0: no period tells. */
static double budget_of(const struct budget_study *s)
{
    for (size_t i = 0; i < s->periods.n; i++)
        if (s->periods.v[i].budget != s->periods.v[i].used)
            return micros(s->periods.v[i].budget, s->periods.v[i].rate);
    return 0.0;
}

static void add_total(const struct budget_study *s, struct result *r)
{
    struct table *t = result_table(r, TABLE_facts, "total", "in all");
    struct sum sum = sum_of(s->periods.v, s->periods.n);
    struct recorded all = {0}, rest = {0};
    double budget = budget_of(s);
    for (size_t i = 0; i < s->threads.n; i++) {
        add_recorded(&all, &s->threads.v[i].all);
        add_recorded(&rest, &s->threads.v[i].rest);
    }
    if (budget > 0)
        fact_number(t, "budget_us", "budget, in microseconds", budget);
    fact_count(t, "threads", NULL, s->threads.n);
    fact_count(t, "periods", "periods of threads that recorded", s->periods.n);
    fact_count(t, "late", "... that used more than the budget", sum.late);
    fact_number(t, "used_us", "microseconds used", sum.used);
    fact_number(t, "over_us", "... more than the budget", sum.over);
    fact_number(t, "over_median_us", "... of a period that did, median", sum.median);
    fact_number(t, "over_p99_us", "... 99 of 100 periods are not above", sum.p99);
    fact_number(t, "over_worst_us", "... worst", sum.worst);
    fact_count(t, "insns", "instructions", all.insns);
    fact_count(t, "refs", "references", all.refs);
    fact_count(t, "rest_insns", "instructions behind a thread's last period", rest.insns);
    fact_count(t, "rest_refs", "references behind it", rest.refs);
}

/* The periods are in the order of threads. */
static void add_threads(const struct budget_study *s, struct result *r)
{
    struct table *t = result_table(r, TABLE_rows, "threads", "threads");
    const struct period *p = s->periods.v;
    table_add_column(t, CELL_count, "process", NULL);
    table_add_column(t, CELL_count, "thread", NULL);
    table_add_column(t, CELL_count, "periods", NULL);
    table_add_column(t, CELL_count, "late", "periods that used more than the budget");
    table_add_column(t, CELL_number, "used_us", NULL);
    table_add_column(t, CELL_number, "over_median_us", NULL);
    table_add_column(t, CELL_number, "over_p99_us", NULL);
    table_add_column(t, CELL_number, "over_worst_us", NULL);
    table_add_column(t, CELL_count, "insns", NULL);
    table_add_column(t, CELL_count, "refs", NULL);
    for (size_t i = 0; i < s->threads.n; i++) {
        const struct budgeted *x = &s->threads.v[i];
        struct sum sum = sum_of(p, x->periods);
        table_row(t, (u64)x->process, (u64)x->thread, (u64)x->periods, sum.late, sum.used, sum.median, sum.p99, sum.worst,
                  x->all.insns, x->all.refs);
        p += x->periods;
    }
}

/* As long as the time that was used; what was too much is marked. */
static const char *bar_of(char bar[BAR_LIMIT + 1], double used, double budget)
{
    double length = budget > 0 ? round(used / budget * BAR) : 0.0;
    u32 n = length < BAR_LIMIT ? (u32)length : BAR_LIMIT;
    for (u32 i = 0; i < n; i++)
        bar[i] = i < BAR ? '#' : '!';
    bar[n] = 0;
    return bar;
}

static u64 began(const struct budget_study *s)
{
    u64 at = UINT64_MAX;
    for (size_t i = 0; i < s->threads.n; i++)
        if (s->threads.v[i].began)
            at = MIN(at, s->threads.v[i].began);
    return at;
}

/* Without a budget that is known, the longest period stands for it. */
static double scale_of(const struct budget_study *s)
{
    double scale = budget_of(s);
    if (scale > 0)
        return scale;
    for (size_t i = 0; i < s->periods.n; i++)
        scale = fmax(scale, micros(s->periods.v[i].used, s->periods.v[i].rate));
    return scale;
}

static void add_periods(struct budget_study *s, struct result *r)
{
    struct table *t = result_table(r, TABLE_rows, "periods", "periods (all of the budget is ####################, and ! is more)");
    double scale = scale_of(s);
    u64 from = began(s);
    char bar[BAR_LIMIT + 1];
    table_add_column(t, CELL_number, "ms", "since recording began");
    table_add_column(t, CELL_count, "process", NULL);
    table_add_column(t, CELL_count, "thread", NULL);
    table_add_column(t, CELL_count, "period", "of the thread");
    table_add_column(t, CELL_number, "used_us", NULL);
    table_add_column(t, CELL_number, "over_us", NULL);
    table_add_column(t, CELL_count, "insns", NULL);
    table_add_column(t, CELL_count, "refs", NULL);
    table_add_column(t, CELL_text, "bar", "used, of the budget");
    if (s->periods.n)
        qsort(s->periods.v, s->periods.n, sizeof *s->periods.v, by_time);
    for (size_t i = 0; i < s->periods.n; i++) {
        const struct period *p = &s->periods.v[i];
        double used = micros(p->used, p->rate);
        table_row(t, micros(p->at - MIN(from, p->at), p->rate) / 1e3, (u64)p->process, (u64)p->thread, (u64)p->number, used,
                  micros(p->over, p->rate), p->recorded.insns, p->recorded.refs, bar_of(bar, used, scale));
    }
}

static void budget_finish(void *study, struct sources *sources, struct result *r)
{
    struct budget_study *s = study;
    (void)sources;
    if (s->periods.n)
        qsort(s->periods.v, s->periods.n, sizeof *s->periods.v, by_thread);
    if (s->threads.n)
        qsort(s->threads.v, s->threads.n, sizeof *s->threads.v, by_number);
    add_total(s, r);
    add_threads(s, r);
    add_periods(s, r);
}

const struct analysis analysis_budget = {
    .name = "budget",
    .wants_memory = true,
    .make = budget_make,
    .finish = budget_finish,
    .drop = budget_drop,
    .memory = budget_memory,
    .end = budget_end,
    .work = budget_work,
    .open = budget_open,
    .add = budget_add,
    .take = budget_take,
    .merge = budget_merge,
};
