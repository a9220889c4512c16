/* SPDX-License-Identifier: MIT */
/* Partial traces: which code of a process is selected, and when the window is open.
 *
 * The guest decides for each thread, at a gate (guest.c, should_be_quiet); here a word is set and all gates are closed. */
#include "host/process.h"

#include <stdlib.h>

/* -- Places ------------------------------------------------------------------------------------ */

/* Where stretches begin or end. */
struct edge {
    u64 at;
    u32 spot;
    bool ends;
};

static int by_place(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* What was mapped there before is gone. */
static void forget(struct stretches *s, u64 start, u64 end)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].start < start || s->v[i].start >= end)
            s->v[kept++] = s->v[i];
    s->n = kept;
}

/* Sorted, and where some overlap, in pieces that do not: all that is at a pc is in one of them. */
static void part(struct stretches *s)
{
    enum { KINDS = 3 };
    VEC(struct edge) edges = {0};
    u32 open[KINDS] = {0};
    for (size_t i = 0; i < s->n; i++) {
        vec_push(&edges, ((struct edge){s->v[i].start, s->v[i].spot, false}));
        vec_push(&edges, ((struct edge){s->v[i].end, s->v[i].spot, true}));
    }
    s->n = 0;
    if (edges.n)
        qsort(edges.v, edges.n, sizeof *edges.v, by_place);
    for (size_t i = 0; i < edges.n; i++) {
        const struct edge *x = &edges.v[i];
        u32 spot = 0;
        for (u32 k = 0; k < KINDS; k++) {
            if (x->spot >> k & 1)
                open[k] += x->ends ? (u32)-1 : 1;
            spot |= (u32)(open[k] != 0) << k;
        }
        if (spot && i + 1 < edges.n && x[1].at > x->at)
            vec_push(s, ((struct stretch){x->at, x[1].at, spot}));
    }
    vec_fini(&edges);
}

void select_module(struct process *p, const struct trace_module *m)
{
    const struct selector *x = p->run->options->selector;
    if (!x || !x->find)
        return;
    forget(&p->selected, m->start, m->end);
    x->find(x->ctx, m, &p->selected);
    part(&p->selected);
}

u32 select_spot(void *process, u64 pc)
{
    const struct process *p = process;
    const struct selector *x = p->run->options->selector;
    size_t from = 0, to = p->selected.n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (p->selected.v[middle].start <= pc)
            from = middle + 1;
        else
            to = middle;
    }
    const struct stretch *s = from ? &p->selected.v[from - 1] : NULL;
    u32 spot = s && pc < s->end ? s->spot : 0;
    if (p->run->options->novel && (!x || x->kind == SELECT_all))
        spot |= SPOT_SELECTED;
    for (size_t i = 0; x && i < x->always.n; i++)
        if (pc >= x->always.v[i].start && pc < x->always.v[i].end)
            spot |= x->always.v[i].spot;
    return spot;
}

/* -- The window -------------------------------------------------------------------------------- */

bool window_moves(const struct run_options *o)
{
    return o->after > 0 || o->trigger || o->by_marks || o->max_refs || (o->seconds > 0 && !o->attach);
}

/* Does the program open it? */
static bool is_opened_inside(const struct run_options *o)
{
    return o->trigger || o->by_marks;
}

enum selection select_kind(const struct run_options *o)
{
    enum selection kind = o->selector ? o->selector->kind : SELECT_all;
    bool moves = window_moves(o) || o->budget.seconds > 0;
    if (kind == SELECT_all && o->novel)
        return SELECT_places;
    return kind == SELECT_all && moves ? SELECT_window : kind;
}

/* Not where the program's code decides, nor where somebody is to look all the time. */
bool select_rests(const struct run *r)
{
    const struct run_options *o = r->options;
    enum selection kind = select_kind(o);
    bool looks = o->budget.seconds > 0 && (o->budget.policy == POLICY_tv || o->budget.policy == POLICY_tc);
    return (kind == SELECT_window || kind == SELECT_places) && !is_opened_inside(o) && !looks && !r->stress.awake;
}

static void set_open(struct process *p, u32 open)
{
    struct control *c = p->control;
    store_relaxed(&c->by_marks, 0); /* from here on it is our business */
    store_relaxed(&c->countdown, 0);
    __atomic_store_n(&c->open, open, __ATOMIC_SEQ_CST);
    gates_close(p);
}

static bool is_open(const struct run *r)
{
    bool open = false;
    for (size_t i = 0; i < r->processes.n; i++)
        open |= load_relaxed(&r->processes.v[i]->control->open) != 0;
    return open;
}

/* Where the program opens it, each process does so for itself. */
static void move(struct run *r, enum window to)
{
    r->window = to;
    if (to == WINDOW_open)
        r->opened = monotonic();
    if (to == WINDOW_open && is_opened_inside(r->options))
        return;
    for (size_t i = 0; i < r->processes.n && select_kind(r->options); i++)
        set_open(r->processes.v[i], to == WINDOW_open);
}

void window_begin(struct run *r)
{
    r->window = r->options->after > 0 || is_opened_inside(r->options) ? WINDOW_before : WINDOW_open;
    r->opened = monotonic();
}

void window_look(struct run *r)
{
    const struct run_options *o = r->options;
    double now = monotonic();
    bool opens = is_opened_inside(o) ? is_open(r) : now - r->began >= o->after;
    if (r->window == WINDOW_before && opens)
        move(r, WINDOW_open);
    bool is_long = o->seconds > 0 && now - r->opened >= o->seconds;
    bool is_full = o->max_refs && load_relaxed(&r->refs) >= o->max_refs;
    if (r->window == WINDOW_open && (is_long || is_full))
        move(r, WINDOW_over);
}
