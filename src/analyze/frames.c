/* SPDX-License-Identifier: MIT */
/* Stacks of frames. */
#include "analyze/frames.h"

#include <stdlib.h>

static struct frame *top(struct stack *s)
{
    return &s->frames.v[s->frames.n - 1];
}

static u64 high(const struct stack *s)
{
    return s->frames.v[0].slot;
}

/* End frames whose slots are below this; the first of a stack stays. */
static void end_frames(struct stack *s, u64 below)
{
    while (s->frames.n > 1 && top(s)->slot < below)
        s->frames.n--;
    if (s->frames.n == 1)
        s->frames.v[0].slot = MAX(high(s), below);
}

static void push_frame(struct stack *s, struct frame x)
{
    vec_push(&s->frames, x);
}

/* -- Stacks ------------------------------------------------------------------------------------- */

/* The first of the other stacks that reaches up to rsp. */
static size_t first_other(const struct frames_thread *t, u64 rsp)
{
    size_t from = 0, to = t->others.n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (high(&t->others.v[middle]) < rsp)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct stack remove_other(struct frames_thread *t, size_t i)
{
    struct stack s = t->others.v[i];
    t->others.n--;
    memmove(&t->others.v[i], &t->others.v[i + 1], (t->others.n - i) * sizeof s);
    return s;
}

static void insert_other(struct frames_thread *t, struct stack s)
{
    if (t->others.n == STACK_OTHERS) {
        struct stack lowest = remove_other(t, 0);
        vec_fini(&lowest.frames);
    }
    size_t at = first_other(t, high(&s));
    vec_push(&t->others, s);
    memmove(&t->others.v[at + 1], &t->others.v[at], (t->others.n - 1 - at) * sizeof s);
    t->others.v[at] = s;
}

enum where { WHERE_same, WHERE_other, WHERE_new };

static enum where where_else(const struct frames_thread *t, u64 rsp, size_t *other)
{
    *other = first_other(t, rsp);
    return *other < t->others.n && t->others.v[*other].low <= rsp ? WHERE_other : WHERE_new;
}

/* On which stack rsp is. */
static enum where where_is(struct frames_thread *t, u64 rsp, size_t *other)
{
    u64 slot = top(&t->now)->slot;
    if (rsp - slot + STACK_NEAR < 2 * STACK_NEAR)
        return WHERE_same;
    if (where_else(t, rsp, other) == WHERE_other)
        return WHERE_other;
    bool below = rsp < slot && slot - rsp <= STACK_SPAN;
    bool above = rsp >= slot && (rsp <= high(&t->now) || rsp - high(&t->now) <= STACK_SPAN);
    return below || above ? WHERE_same : WHERE_new;
}

/* On which stack the kernel put a handler's frame: if on the one in use, then below everything. */
static enum where where_is_handler(struct frames_thread *t, u64 rsp, size_t *other)
{
    u64 slot = top(&t->now)->slot;
    if (where_else(t, rsp, other) == WHERE_other)
        return WHERE_other;
    return rsp < slot && slot - rsp <= STACK_SPAN ? WHERE_same : WHERE_new;
}

/* Leave the stack in use for another one; a new one begins at rsp, in this context. */
static void change_stack(struct frames_thread *t, enum where where, size_t other, u64 rsp,
                         u32 context, bool keep)
{
    struct stack s = {0}, before = t->now;
    if (where == WHERE_other)
        s = remove_other(t, other);
    else
        push_frame(&s, (struct frame){.slot = rsp, .context = context});
    if (keep || before.frames.n > 1)
        insert_other(t, before);
    else
        vec_fini(&before.frames);
    t->now = s;
}

/* -- Moves -------------------------------------------------------------------------------------- */

/* The frame goes on as the function at pc. */
static void go_on_as(struct contexts *c, struct frame *x, u64 pc)
{
    if (c->v.v[x->context].pc != pc)
        x->context = context_sibling(c, x->context, pc);
}

static u32 call(struct contexts *c, u32 from, u64 pc, u8 signal)
{
    u32 to = context_child(c, from, pc, signal);
    c->v.v[to].calls++;
    return to;
}

/* A return or a jump to pc; 0: it leads to no function's beginning. */
static void take_jump(struct contexts *c, struct frames_thread *t, u64 rsp, u64 pc)
{
    u32 from = top(&t->now)->context;
    size_t other;
    enum where where = where_is(t, rsp, &other);
    if (where != WHERE_same) {
        t->now.low = top(&t->now)->slot;
        change_stack(t, where, other, rsp, from, false);
    }
    end_frames(&t->now, rsp);
    struct frame *x = top(&t->now);
    if (pc && !x->is_fixed && x->slot == rsp)
        go_on_as(c, x, pc);
}

/* A call on another stack is made by the frame that is there now: it has changed stacks itself. */
static void move_caller(struct frames_thread *t, u64 rsp, u32 from)
{
    struct stack *s = &t->now;
    if (s->frames.n == 1)
        s->frames.v[0].context = from;
    else
        push_frame(s, (struct frame){.slot = rsp, .context = from, .is_fixed = true});
}

static void take_call(struct contexts *c, struct frames_thread *t, u64 rsp, u64 pc)
{
    u32 from = top(&t->now)->context;
    size_t other;
    enum where where = where_is(t, rsp, &other);
    if (where != WHERE_same) {
        t->now.low = top(&t->now)->slot;
        change_stack(t, where, other, rsp + 8, from, false);
    }
    end_frames(&t->now, rsp + 8);
    if (where != WHERE_same)
        move_caller(t, rsp + 8, from);
    push_frame(&t->now, (struct frame){.slot = rsp, .context = call(c, from, pc, 0)});
}

/* A handler begins with rsp at its return address, as if it had been called. */
static void take_signal(struct contexts *c, struct frames_thread *t, const struct move *m, u64 rsp)
{
    u32 from = top(&t->now)->context;
    size_t other;
    enum where where = where_is_handler(t, rsp, &other);
    if (where != WHERE_same) {
        t->now.low = m->rsp;
        change_stack(t, where, other, rsp + 16, from, true);
    }
    end_frames(&t->now, rsp + 16);
    u32 signal = call(c, from, 0, m->signal);
    push_frame(&t->now, (struct frame){rsp + 8, signal, .is_fixed = true});
    push_frame(&t->now, (struct frame){.slot = rsp, .context = call(c, signal, m->to, 0)});
}

static void take_state(struct contexts *c, struct frames_thread *t, u64 rsp)
{
    if (!t->waits)
        return;
    t->waits = false;
    if (t->waiting.kind == MOVE_signal)
        take_signal(c, t, &t->waiting, rsp);
    else
        take_jump(c, t, rsp, 0);
}

static void take_move(struct contexts *c, struct frames_thread *t, const struct move *m)
{
    switch (m->kind) {
    case MOVE_call:
        take_call(c, t, m->rsp, m->to);
        return;
    case MOVE_jump:
        take_jump(c, t, m->rsp, m->to);
        return;
    case MOVE_state:
        take_state(c, t, m->rsp);
        return;
    default:
        t->waiting = *m;
        t->waits = true;
    }
}

/* -- Threads ------------------------------------------------------------------------------------ */

static struct frames_thread *thread_of(struct frames *f, u32 number)
{
    for (u32 i = 0; i < f->threads.n; i++) {
        u32 k = (f->latest + i) % (u32)f->threads.n;
        if (f->threads.v[k].number == number) {
            f->latest = k;
            return &f->threads.v[k];
        }
    }
    vec_push(&f->threads, ((struct frames_thread){.number = number}));
    f->latest = (u32)f->threads.n - 1;
    return &f->threads.v[f->latest];
}

static void begin_thread(struct contexts *c, struct frames_thread *t, const struct moves *m)
{
    u32 root = context_root(c, t->number);
    push_frame(&t->now, (struct frame){.slot = m->rsp, .context = call(c, root, m->pc, 0)});
}

/* A copy of a stack may go on in the next stretch. */
static void gather_copy(struct frames_thread *t, const struct stack_copy *s)
{
    if (!t->has_copy) {
        t->has_copy = true;
        t->copy.pc = s->pc;
        t->copy.rsp = s->rsp;
        t->copy.rbp = s->rbp;
        t->copy.words.n = 0;
    }
    for (size_t i = 0; i < s->words.n; i++)
        vec_push(&t->copy.words, s->words.v[i]);
}

/* What a copy tells of a thread's stack is all that is known of it: what was there before the gap may be gone. Other stacks are left as they were: nobody comes back to
 * those that are gone. */
static void take_copy(struct frames *f, struct frames_thread *t)
{
    if (!t->has_copy)
        return;
    t->has_copy = false;
    const struct stack_copy *s = &t->copy;
    struct contexts *c = &f->contexts;
    struct callers *k = &f->callers;
    callers_find(k, s);
    u32 context = context_root(c, t->number);
    t->now.frames.n = 0;
    if (!k->is_whole) {
        u64 slot = k->list.n ? k->list.v[k->list.n - 1].slot + 8 : s->rsp;
        context = context_child(c, context, 0, 0);
        push_frame(&t->now, (struct frame){.slot = slot, .context = context, .is_fixed = true});
    }
    for (size_t i = k->list.n; i-- > 0;) {
        context = context_child(c, context, k->list.v[i].pc, 0);
        push_frame(&t->now, (struct frame){.slot = k->list.v[i].slot, .context = context});
    }
}

static void count(struct contexts *c, struct frames_thread *t, const struct stack_counts *n, const u32 *misses)
{
    struct context *x = &c->v.v[top(&t->now)->context];
    x->self.insns += n->insns;
    x->self.reads += n->reads;
    x->self.writes += n->writes;
    for (u32 k = 0; k < MISS_KINDS; k++)
        x->misses[k] += misses[k];
}

void frames_take(struct frames *f, u32 thread, const struct moves *m)
{
    struct contexts *c = &f->contexts;
    struct frames_thread *t = thread_of(f, thread);
    if (!t->now.frames.n && m->begun)
        begin_thread(c, t, m);
    if (!t->now.frames.n) /* nothing has run yet */
        return;
    if (t->is_open && m->begun) {
        t->open.to = m->pc;
        if (m->pc || (m->is_gap && t->open.kind == MOVE_jump))
            take_move(c, t, &t->open);
        t->is_open = false;
    }
    for (size_t i = 0; i < m->list.n; i++) {
        const struct move *x = &m->list.v[i];
        if (x->kind != MOVE_stack || x->counts.insns)
            take_copy(f, t);
        count(c, t, &x->counts, x->misses);
        if (x->kind == MOVE_stack) {
            gather_copy(t, &m->copies.v[x->to]);
        } else if (i + 1 == m->open) {
            t->open = *x;
            t->is_open = true;
        } else {
            take_move(c, t, x);
        }
    }
    if (m->rest.insns)
        take_copy(f, t);
    count(c, t, &m->rest, m->rest_misses);
}

void frames_end(struct frames *f)
{
    for (size_t i = 0; i < f->threads.n; i++) {
        struct frames_thread *t = &f->threads.v[i];
        for (size_t k = 0; k < t->others.n; k++)
            vec_fini(&t->others.v[k].frames);
        vec_fini(&t->others);
        vec_fini(&t->now.frames);
        vec_fini(&t->copy.words);
    }
    vec_fini(&f->threads);
    callers_fini(&f->callers);
}
