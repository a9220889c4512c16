/* SPDX-License-Identifier: MIT */
/* From events to branches, from branches to what was foretold of them.
 *
 * Works hold lists of branches, which are copied from the routes of exits. How often conditional branches ran and were taken follows from
 * how often each exit was passed, so that taking a work is predicting and nothing else. The parts are: shares of the conditional
 * branches, by their counters, where the predictor has nothing that connects these; and targets, which have nothing to do with them. */
#include "analyze/branches.h"
#include "base/err.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

/* What a thread has in one share. */
struct share_thread {
    u32 thread;
    struct predictor own, *predictor;
    struct history history;
};

struct share {
    VEC(struct share_thread *) threads;
    struct mispredicted missed;
};

struct hop_thread {
    u32 thread;
    struct last_targets own, *last;
    struct return_stack returns;
    struct hop pending; /* its last one, whose target is where the next work begins */
    bool is_pending;
};

struct branches_memory {
    struct branches *branches;
    u32 number;
    struct routes routes;
    struct share *shares;
    VEC(struct hop_thread *) hop_threads;
    struct hop_tally hops;
    struct passes passes;
    VEC(u64) executed, taken; /* by branch number: of records that were left in their middle */
};

/* Where a work begins. */
enum start { START_unknown, START_known, START_lost };

struct choices {
    VEC(struct choice) list;
};

struct branches_work {
    struct branches_memory *memory;
    u32 thread;
    enum start start;
    u64 start_pc;
    bool open; /* the last hop has no target yet */
    struct choices *choices; /* by share */
    VEC(struct hop) hops;
    struct passes passes;
    VEC(u64) executed, taken;
};

/* -- Events ------------------------------------------------------------------------------------- */

void *foretold_memory(void *branches, u32 number, const struct unit_table *t)
{
    struct branches_memory *x = zeros(1, sizeof *x);
    x->branches = branches;
    x->number = number;
    x->shares = zeros(x->branches->shares, sizeof *x->shares);
    routes_init(&x->routes, t);
    return x;
}

void *foretold_work(void *memory)
{
    struct branches_work *w = zeros(1, sizeof *w);
    w->memory = memory;
    w->choices = zeros(w->memory->branches->shares, sizeof *w->choices);
    return w;
}

void foretold_open(void *work, u32 thread)
{
    struct branches_work *w = work;
    w->thread = thread;
    w->start = START_unknown;
    w->open = false;
    w->hops.n = 0;
    for (u32 k = 0; k < w->memory->branches->shares; k++)
        w->choices[k].list.n = 0;
}

/* The thread has come to this pc. */
static void arrive(struct branches_work *w, u64 pc)
{
    if (w->open)
        w->hops.v[w->hops.n - 1].target = pc;
    w->open = false;
    if (w->start == START_unknown) {
        w->start = START_known;
        w->start_pc = pc;
    }
}

/* Nobody knows where it has gone. */
static void lose(struct branches_work *w)
{
    w->hops.n -= w->open;
    w->open = false;
    if (w->start == START_unknown)
        w->start = START_lost;
}

/* To which share the counters of a branch belong. */
static u32 share_of(const struct branches *b, u32 at)
{
    return (u32)((u64)(at & (b->shape.entries - 1)) * b->shares / b->shape.entries);
}

static void add_choices(struct branches_work *w, const struct route *x)
{
    const struct branches *b = w->memory->branches;
    if (b->shares == 1) {
        struct choice *to = vec_grow(&w->choices[0].list, x->n_choices);
        for (u32 i = 0; i < x->n_choices; i++)
            to[i] = x->choices[i];
        return;
    }
    for (u32 i = 0; i < x->n_choices; i++)
        vec_push(&w->choices[share_of(b, x->choices[i].at)].list, x->choices[i]);
}

static void add_route(struct branches_work *w, const struct route *x)
{
    add_choices(w, x);
    if (!x->n_hops)
        return;
    memcpy(vec_grow(&w->hops, x->n_hops), x->hops, x->n_hops * sizeof *x->hops);
    w->open = x->open;
}

/* Passes do not tell of these. */
static void count_partial(struct branches_work *w, const struct route *x)
{
    for (u32 i = 0; i < x->n_choices; i++) {
        const u32 number = x->choices[i].what >> 1;
        vec_reach(&w->executed, number);
        vec_reach(&w->taken, number);
        w->executed.v[number]++;
        w->taken.v[number] += choice_taken(x->choices[i]);
    }
}

static void add_partial(struct branches_work *w, const struct ran *r)
{
    struct route x;
    routes_partial(&w->memory->routes, r, &x);
    add_route(w, &x);
    count_partial(w, &x);
    route_free(&x);
}

static u64 slot_of(const struct events *e, u32 i, u32 slot)
{
    u64 x;
    memcpy(&x, e->records + e->batch->record_at[i] + RECORD_SLOTS_AT + 8 * slot, sizeof x);
    return x;
}

static void add_guest(struct branches_work *w, const struct events *e, u32 i)
{
    enum { SIGNAL_PC = 2, STEPPED_PC = 0 };
    switch (e->batch->exit[i]) {
    case RECORD_signal:
        arrive(w, slot_of(e, i, SIGNAL_PC));
        break;
    case RECORD_stepped:
        arrive(w, slot_of(e, i, STEPPED_PC));
        break;
    case RECORD_lost:
    case RECORD_resumed:
    case RECORD_entered:
    case RECORD_native:
        lose(w);
    }
}

void foretold_add(void *work, const struct events *e)
{
    struct branches_work *w = work;
    struct routes *routes = &w->memory->routes;
    const u32 n = e->batch->n_records - e->unfinished;
    struct ran r;
    for (u32 i = 0; i < n; i++) {
        if (!events_ran(e, i, &r)) {
            add_guest(w, e, i);
            continue;
        }
        arrive(w, e->table->units.v[r.unit].pc);
        if (r.partial)
            add_partial(w, &r);
        else
            add_route(w, routes_exit(routes, e->batch->exit[i] - FIRST_EXIT_ID));
        passes_count(&w->passes, e, i, &r);
    }
}

/* -- In turn ------------------------------------------------------------------------------------ */

static struct share_thread *share_thread_of(struct branches *b, struct share *s, u32 share,
                                            u32 thread)
{
    for (size_t i = s->threads.n; i-- > 0;) /* most likely a late one */
        if (s->threads.v[i]->thread == thread)
            return s->threads.v[i];
    struct share_thread *t = zeros(1, sizeof *t);
    t->thread = thread;
    t->predictor = b->shared ? &b->predictors[share] : &t->own;
    if (!b->shared)
        predictor_init(&t->own, &b->shape);
    vec_push(&s->threads, t);
    return t;
}

static void take_choices(struct branches_memory *x, const struct branches_work *w, u32 share)
{
    struct share *s = &x->shares[share];
    if (!w->choices[share].list.n)
        return;
    struct share_thread *t = share_thread_of(x->branches, s, share, w->thread);
    predictor_run(t->predictor, &t->history, w->choices[share].list.v, w->choices[share].list.n,
                  &s->missed);
}

static struct hop_thread *hop_thread_of(struct branches_memory *x, u32 thread)
{
    struct branches *b = x->branches;
    for (size_t i = x->hop_threads.n; i-- > 0;)
        if (x->hop_threads.v[i]->thread == thread)
            return x->hop_threads.v[i];
    struct hop_thread *t = zeros(1, sizeof *t);
    t->thread = thread;
    t->last = b->shared ? &b->last : &t->own;
    if (!b->shared)
        last_targets_init(&t->own, b->targets);
    return_stack_init(&t->returns, b->returns);
    vec_push(&x->hop_threads, t);
    return t;
}

static void take_hops(struct branches_memory *x, const struct branches_work *w)
{
    struct hop_thread *t = hop_thread_of(x, w->thread);
    if (t->is_pending && w->start == START_known) {
        t->pending.target = w->start_pc;
        hop_run(t->last, &t->returns, &t->pending, &x->hops);
    }
    t->is_pending &= w->start == START_unknown;
    for (size_t i = 0; i < w->hops.n - w->open; i++)
        hop_run(t->last, &t->returns, &w->hops.v[i], &x->hops);
    if (w->open) {
        t->pending = w->hops.v[w->hops.n - 1];
        t->is_pending = true;
    }
}

void foretold_take(void *memory, void *work, u32 part)
{
    struct branches_memory *x = memory;
    if (part < x->branches->shares)
        take_choices(x, work, part);
    if (part + 1 == x->branches->parts)
        take_hops(x, work);
}

/* -- The end ------------------------------------------------------------------------------------ */

struct counters {
    u64 *executed, *taken;
};

/* What passes tell of conditional branches. */
static void count_passes(struct branches_memory *x, const struct counters *c)
{
    for (size_t k = 0; k < x->passes.exits.n && k < x->routes.table->exits.n; k++) {
        const u64 passed = x->passes.exits.v[k];
        const struct route *r = passed ? routes_exit(&x->routes, (u32)k) : NULL;
        for (u32 i = 0; r && i < r->n_choices; i++) {
            c->executed[r->choices[i].what >> 1] += passed;
            c->taken[r->choices[i].what >> 1] += choice_taken(r->choices[i]) ? passed : 0;
        }
    }
    x->branches->insns += passes_total(&x->passes, x->routes.table);
}

static void add_partials(struct branches_memory *x, const struct branches_work *w)
{
    for (size_t i = 0; i < w->executed.n; i++)
        if (w->executed.v[i]) {
            vec_reach(&x->executed, i);
            vec_reach(&x->taken, i);
            x->executed.v[i] += w->executed.v[i];
            x->taken.v[i] += w->taken.v[i];
        }
}

void foretold_merge(void *memory, void *work)
{
    struct branches_work *w = work;
    add_partials(memory, w);
    passes_join(&w->memory->passes, &w->passes);
    for (u32 k = 0; k < w->memory->branches->shares; k++)
        vec_fini(&w->choices[k].list);
    free(w->choices);
    vec_fini(&w->hops);
    vec_fini(&w->executed);
    vec_fini(&w->taken);
    free(w);
}

static u64 missed_of(const struct branches_memory *x, u32 number)
{
    u64 missed = 0;
    for (u32 k = 0; k < x->branches->shares; k++)
        if (number < x->shares[k].missed.count.n)
            missed += x->shares[k].missed.count.v[number];
    return missed;
}

static void add_branch(struct branches_memory *x, u32 number, const struct counters *c)
{
    const struct branch *b = &x->routes.branches.v[number];
    u64 count[BRANCH_COUNTS] = {c->executed[number], c->taken[number], 0};
    if (b->sum == SUM_conditional) {
        count[BRANCH_missed] = missed_of(x, number);
    } else if (number < x->hops.count.n) {
        const struct hop_counts *n = &x->hops.count.v[number];
        count[BRANCH_executed] = count[BRANCH_taken] = n->executed;
        count[BRANCH_missed] = n->missed;
    }
    for (u32 i = 0; i < BRANCH_COUNTS; i++)
        x->branches->sums[b->sum][i] += count[i];
    if (count[BRANCH_executed])
        spots_add(&x->branches->spots, x->number, b->pc, count);
}

static void free_memory(struct branches_memory *x)
{
    for (u32 k = 0; k < x->branches->shares; k++) {
        struct share *s = &x->shares[k];
        for (size_t i = 0; i < s->threads.n; i++) {
            predictor_fini(&s->threads.v[i]->own);
            free(s->threads.v[i]);
        }
        vec_fini(&s->threads);
        vec_fini(&s->missed.count);
    }
    for (size_t i = 0; i < x->hop_threads.n; i++) {
        free(x->hop_threads.v[i]->own.v);
        free(x->hop_threads.v[i]->returns.v);
        free(x->hop_threads.v[i]);
    }
    vec_fini(&x->hop_threads);
    vec_fini(&x->hops.count);
    passes_fini(&x->passes);
    vec_fini(&x->executed);
    vec_fini(&x->taken);
    routes_fini(&x->routes);
    free(x->shares);
    free(x);
}

void foretold_end(void *memory)
{
    struct branches_memory *x = memory;
    const size_t n = x->routes.branches.n;
    struct counters c = {zeros(n, sizeof *c.executed), zeros(n, sizeof *c.taken)};
    for (size_t i = 0; i < n && i < x->executed.n; i++) {
        c.executed[i] += x->executed.v[i];
        c.taken[i] += x->taken.v[i];
    }
    count_passes(x, &c);
    for (u32 i = 0; i < n; i++)
        add_branch(x, i, &c);
    free(c.executed);
    free(c.taken);
    free_memory(x);
}
