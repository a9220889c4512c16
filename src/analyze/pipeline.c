/* SPDX-License-Identifier: MIT */
/* Works in turn.
 *
 * A turn is a queue of works that its stretch fills. A lane is a part of an analysis; it has gone through each order up to some turn
 * and work, and whoever gets its lock leads it on. A work that all lanes have taken is made use of again. */
#include "analyze/pipeline.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <x86intrin.h>

enum {
    TURNS = 32,         /* that may be under way in an order */
    TURN_WORKS = 1024,  /* that may wait in a turn */
    WORKS_LIMIT = 1024, /* ... in all turns but the first */
    FULL_REFS = 4096,   /* a work is handed over with so many references, or records */
    FULL_RECORDS = 1024,
    WAIT_US = 50,
};

/* One for all analyses. */
struct work {
    struct pipe_memory *memory;
    u32 lanes; /* that have yet to take it; atomic */
    u32 refs, records;
    void *of[]; /* by analysis */
};

struct turn {
    u64 gone;     /* turns that were here and that all lanes have left: so it is turn gone * TURNS + its place that comes next; atomic */
    u64 open;     /* its number + 1; 0: it has not come yet; atomic */
    u64 produced; /* works so far; atomic */
    u32 done;     /* there will be no more; atomic */
    u32 lanes;    /* that have yet to leave it; atomic */
    struct work *work[TURN_WORKS]; /* the latest */
};

/* A part of an analysis. */
struct lane {
    u32 analysis, part;
    pthread_mutex_t lock; /* guards the part, and how far each order has come in it */
};

struct pipeline {
    u32 n;
    const struct analysis *const *analyses;
    void *const *studies;
    struct lane *lanes;
    u32 n_lanes;
    pthread_mutex_t lock; /* memories begin and end one at a time, also where there are no lanes */
    u64 first_tick, last_tick;
    struct pipe_stats stats; /* atomic */
};

/* How far an order has come in a lane. */
struct place {
    u64 turn, taken; /* atomic */
};

struct pipe_order {
    struct pipeline *pipeline;
    struct place *place; /* by lane, and guarded by that */
    u32 waiting;         /* works on their way; atomic */
    struct turn turn[TURNS];
};

struct pipe_memory {
    struct pipeline *pipeline;
    struct pipe_order *order;
    void **memory;        /* by analysis */
    pthread_mutex_t lock; /* guards what follows */
    VEC(struct work *) free, all;
};

struct stretch {
    struct pipe_memory *memory;
    struct pipe_order *order;
    struct turn *turn;
    u64 number;
    u32 thread;
    struct work *work;
    u64 refs;
    u64 began, add, take, wait; /* ticks */
};

/* -- Making ------------------------------------------------------------------------------------- */

static void add_lanes(struct pipeline *p, u32 analysis, u32 parts)
{
    for (u32 k = 0; p->analyses[analysis]->take && k < parts; k++) {
        struct lane *l = &p->lanes[p->n_lanes++];
        *l = (struct lane){.analysis = analysis, .part = k};
        check(pthread_mutex_init(&l->lock, NULL) == 0);
    }
}

struct pipeline *pipeline_new(const struct analysis *const *chosen, void *const *studies, u32 n,
                              u32 workers, struct err *e)
{
    struct pipeline *p = zeros(1, sizeof *p);
    p->n = n;
    p->analyses = chosen;
    p->studies = studies;
    check(pthread_mutex_init(&p->lock, NULL) == 0);
    p->lanes = zeros((size_t)n * workers, sizeof *p->lanes);
    for (u32 i = 0; i < n; i++) {
        int parts = chosen[i]->begin ? chosen[i]->begin(studies[i], workers, e) : 1;
        if (parts < 0) {
            pipeline_free(p);
            return NULL;
        }
        check(parts >= 1 && (u32)parts <= workers);
        add_lanes(p, i, (u32)parts);
    }
    return p;
}

void pipeline_free(struct pipeline *p)
{
    for (u32 i = 0; i < p->n_lanes; i++)
        pthread_mutex_destroy(&p->lanes[i].lock);
    pthread_mutex_destroy(&p->lock);
    free(p->lanes);
    free(p);
}

/* Nobody takes anything meanwhile. */
static void lock_lanes(struct pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    for (u32 i = 0; i < p->n_lanes; i++)
        pthread_mutex_lock(&p->lanes[i].lock);
}

static void unlock_lanes(struct pipeline *p)
{
    for (u32 i = 0; i < p->n_lanes; i++)
        pthread_mutex_unlock(&p->lanes[i].lock);
    pthread_mutex_unlock(&p->lock);
}

struct pipe_order *pipeline_order(struct pipeline *p)
{
    struct pipe_order *o = zeros(1, sizeof *o);
    o->pipeline = p;
    o->place = zeros(p->n_lanes, sizeof *o->place);
    return o;
}

void pipeline_order_free(struct pipe_order *o)
{
    free(o->place);
    free(o);
}

struct pipe_memory *pipeline_begin(struct pipe_order *o, u32 number, const struct unit_table *t)
{
    struct pipeline *p = o->pipeline;
    struct pipe_memory *m = zeros(1, sizeof *m);
    m->pipeline = p;
    m->order = o;
    m->memory = zeros(p->n, sizeof *m->memory);
    check(pthread_mutex_init(&m->lock, NULL) == 0);
    lock_lanes(p);
    for (u32 i = 0; i < p->n; i++)
        m->memory[i] = p->analyses[i]->memory(p->studies[i], number, t);
    unlock_lanes(p);
    return m;
}

void pipeline_mapped(struct pipe_memory *m, const struct trace_mapped *mapped)
{
    const struct pipeline *p = m->pipeline;
    for (u32 i = 0; i < p->n; i++)
        if (p->analyses[i]->mapped)
            p->analyses[i]->mapped(m->memory[i], mapped);
}

/* -- Works -------------------------------------------------------------------------------------- */

static struct work *new_work(struct pipe_memory *m)
{
    const struct pipeline *p = m->pipeline;
    struct work *w = zeros(1, sizeof *w + p->n * sizeof w->of[0]);
    w->memory = m;
    for (u32 i = 0; i < p->n; i++)
        w->of[i] = p->analyses[i]->work(m->memory[i]);
    vec_push(&m->all, w);
    return w;
}

static struct work *open_work(struct pipe_memory *m, u32 thread)
{
    const struct pipeline *p = m->pipeline;
    pthread_mutex_lock(&m->lock);
    struct work *w = m->free.n ? m->free.v[--m->free.n] : new_work(m);
    pthread_mutex_unlock(&m->lock);
    w->lanes = p->n_lanes;
    w->refs = w->records = 0;
    for (u32 i = 0; i < p->n; i++)
        p->analyses[i]->open(w->of[i], thread);
    return w;
}

static void free_work(struct work *w)
{
    struct pipe_memory *m = w->memory;
    pthread_mutex_lock(&m->lock);
    vec_push(&m->free, w);
    pthread_mutex_unlock(&m->lock);
}

/* -- Lanes -------------------------------------------------------------------------------------- */

/* Whether there is something to do in a lane. Only a hint, unless its lock is held. */
static bool has_next(struct pipe_order *o, u32 lane)
{
    const struct place at = {load_acquire(&o->place[lane].turn), load_relaxed(&o->place[lane].taken)};
    const struct turn *t = &o->turn[at.turn % TURNS];
    return load_acquire(&t->open) == at.turn + 1 &&
           (load_acquire(&t->done) || load_acquire(&t->produced) > at.taken);
}

static void take_work(struct pipe_order *o, u32 lane, struct work *w)
{
    const struct lane *l = &o->pipeline->lanes[lane];
    o->pipeline->analyses[l->analysis]->take(w->memory->memory[l->analysis], w->of[l->analysis], l->part);
    if (__atomic_sub_fetch(&w->lanes, 1, __ATOMIC_ACQ_REL))
        return;
    free_work(w);
    __atomic_fetch_sub(&o->waiting, 1, __ATOMIC_RELAXED);
}

static void leave_turn(struct turn *t)
{
    if (__atomic_sub_fetch(&t->lanes, 1, __ATOMIC_ACQ_REL))
        return;
    store_relaxed(&t->open, 0);
    store_release(&t->gone, t->gone + 1);
}

/* With its lock held: all that there is. */
static void run_lane(struct pipe_order *o, u32 lane)
{
    struct place *at = &o->place[lane];
    for (;;) {
        struct turn *t = &o->turn[at->turn % TURNS];
        if (load_acquire(&t->open) != at->turn + 1)
            return;
        bool done = load_acquire(&t->done); /* before `produced`: then that is the last word */
        if (at->taken < load_acquire(&t->produced)) {
            take_work(o, lane, t->work[at->taken % TURN_WORKS]);
            store_release(&at->taken, at->taken + 1);
        } else if (done) {
            store_relaxed(&at->taken, 0);
            store_release(&at->turn, at->turn + 1);
            leave_turn(t);
        } else {
            return;
        }
    }
}

/* Lead all lanes on that nobody else leads, beginning anywhere. Who let a lock go a moment ago may not have seen the last work. */
static void run_lanes(struct pipe_order *o, u64 from)
{
    struct pipeline *p = o->pipeline;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (u32 k = 0; k < p->n_lanes; k++) {
        u32 lane = (u32)((from + k) % p->n_lanes);
        while (has_next(o, lane) && !pthread_mutex_trylock(&p->lanes[lane].lock)) {
            run_lane(o, lane);
            pthread_mutex_unlock(&p->lanes[lane].lock);
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
        }
    }
}

/* -- Stretches ---------------------------------------------------------------------------------- */

static void spend(u64 *account, u64 since)
{
    *account += __rdtsc() - since;
}

/* Make oneself useful. */
static void help(struct stretch *s)
{
    u64 since = __rdtsc();
    run_lanes(s->order, s->number);
    spend(&s->take, since);
}

static void pause_a_while(struct stretch *s)
{
    help(s);
    u64 since = __rdtsc();
    usleep(WAIT_US);
    spend(&s->wait, since);
}

struct stretch *pipeline_open(struct pipe_memory *m, u64 turn, u32 thread)
{
    struct pipeline *p = m->pipeline;
    struct stretch *s = zeros(1, sizeof *s);
    *s = (struct stretch){.memory = m,
                          .order = m->order,
                          .turn = &m->order->turn[turn % TURNS],
                          .number = turn,
                          .thread = thread,
                          .began = __rdtsc()};
    u64 never = 0;
    __atomic_compare_exchange_n(&p->first_tick, &never, s->began, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    if (!p->n_lanes)
        return s;
    while (load_acquire(&s->turn->gone) != turn / TURNS) /* an earlier turn may yet come here, if its thread is late */
        pause_a_while(s);
    store_relaxed(&s->turn->produced, 0);
    store_relaxed(&s->turn->done, 0);
    store_relaxed(&s->turn->lanes, p->n_lanes);
    store_release(&s->turn->open, turn + 1);
    return s;
}

/* Works of this turn that all lanes have taken; *first if none of them is at an earlier turn: then works are taken at once. */
static u64 taken_by_all(const struct stretch *s, bool *first)
{
    u64 taken = s->turn->produced;
    *first = true;
    for (u32 k = 0; k < s->memory->pipeline->n_lanes; k++) {
        const struct place *at = &s->order->place[k];
        *first &= load_acquire(&at->turn) == s->number;
        taken = MIN(taken, *first ? load_acquire(&at->taken) : 0);
    }
    return taken;
}

static bool has_room(const struct stretch *s)
{
    bool first;
    return s->turn->produced - taken_by_all(s, &first) < TURN_WORKS &&
           (first || load_relaxed(&s->order->waiting) < WORKS_LIMIT);
}

static void close_work(const struct work *w)
{
    const struct pipeline *p = w->memory->pipeline;
    for (u32 i = 0; i < p->n; i++)
        if (p->analyses[i]->close)
            p->analyses[i]->close(w->of[i]);
}

static void hand_over(struct stretch *s)
{
    struct pipe_memory *m = s->memory;
    struct work *w = s->work;
    s->work = NULL;
    close_work(w);
    __atomic_fetch_add(&m->pipeline->stats.works, 1, __ATOMIC_RELAXED);
    if (!m->pipeline->n_lanes) {
        free_work(w);
        return;
    }
    while (!has_room(s))
        pause_a_while(s);
    __atomic_fetch_add(&s->order->waiting, 1, __ATOMIC_RELAXED);
    s->turn->work[s->turn->produced % TURN_WORKS] = w;
    store_release(&s->turn->produced, s->turn->produced + 1);
    help(s);
}

void pipeline_add(struct stretch *s, const struct events *e)
{
    const struct pipeline *p = s->memory->pipeline;
    u64 since = __rdtsc();
    if (!s->work)
        s->work = open_work(s->memory, s->thread);
    for (u32 i = 0; i < p->n; i++)
        p->analyses[i]->add(s->work->of[i], e);
    s->work->refs += e->batch->n_refs;
    s->refs += e->batch->n_refs;
    s->work->records += e->batch->n_records;
    spend(&s->add, since);
    if (s->work->refs >= FULL_REFS || s->work->records >= FULL_RECORDS)
        hand_over(s);
}

static void add_stats(struct stretch *s)
{
    struct pipe_stats *n = &s->memory->pipeline->stats;
    u64 now = __rdtsc();
    __atomic_fetch_add(&n->decode, now - s->began - s->add - s->take - s->wait, __ATOMIC_RELAXED);
    __atomic_fetch_add(&n->add, s->add, __ATOMIC_RELAXED);
    __atomic_fetch_add(&n->take, s->take, __ATOMIC_RELAXED);
    __atomic_fetch_add(&n->wait, s->wait, __ATOMIC_RELAXED);
    __atomic_fetch_add(&n->stretches, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&n->refs, s->refs, __ATOMIC_RELAXED);
    store_relaxed(&s->memory->pipeline->last_tick, now);
}

void pipeline_close(struct stretch *s)
{
    if (s->work)
        hand_over(s);
    if (s->memory->pipeline->n_lanes) {
        store_release(&s->turn->done, 1);
        help(s);
    }
    add_stats(s);
    free(s);
}

void pipeline_end(struct pipe_memory *m)
{
    struct pipeline *p = m->pipeline;
    lock_lanes(p);
    for (u32 k = 0; k < p->n_lanes; k++)
        run_lane(m->order, k);
    check(m->free.n == m->all.n);
    for (u32 i = 0; i < p->n; i++) {
        for (size_t k = 0; k < m->all.n; k++)
            p->analyses[i]->merge(m->memory[i], m->all.v[k]->of[i]);
        p->analyses[i]->end(m->memory[i]);
    }
    unlock_lanes(p);
    for (size_t k = 0; k < m->all.n; k++)
        free(m->all.v[k]);
    vec_fini(&m->all);
    vec_fini(&m->free);
    pthread_mutex_destroy(&m->lock);
    free(m->memory);
    free(m);
}

u64 pipeline_ticks(void)
{
    return __rdtsc();
}

void pipeline_unpacked(struct pipeline *p, u64 since)
{
    __atomic_fetch_add(&p->stats.decode, __rdtsc() - since, __ATOMIC_RELAXED);
}

struct pipe_stats pipeline_stats(const struct pipeline *p)
{
    struct pipe_stats n = p->stats;
    n.ticks = p->last_tick - p->first_tick;
    return n;
}
