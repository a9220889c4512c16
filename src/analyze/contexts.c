/* SPDX-License-Identifier: MIT */
/* Contexts in an array, found by a table of hashes. */
#include "analyze/contexts.h"
#include "base/err.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 1024 };

static u32 add_context(struct contexts *c, struct context x)
{
    check(c->v.n < CONTEXT_NONE);
    x.child = x.jumps = CONTEXT_NONE;
    vec_push(&c->v, x);
    return (u32)c->v.n - 1;
}

u32 context_root(struct contexts *c, u32 thread)
{
    return add_context(c, (struct context){.pc = thread, .parent = CONTEXT_NONE});
}

static bool is_child(const struct context *x, u32 parent, u64 pc, u8 signal)
{
    return x->pc == pc && x->parent == parent && x->signal == signal;
}

/* Where a child stands, or would. */
static u32 *find_slot(const struct contexts *c, u32 parent, u64 pc, u8 signal)
{
    u64 hash = (pc ^ (u64)parent << 40 ^ parent ^ (u64)signal << 56) * 0x9e3779b97f4a7c15ull;
    u32 at = (u32)(hash >> 32) & c->mask;
    while (c->slots[at] && !is_child(&c->v.v[c->slots[at] - 1], parent, pc, signal))
        at = (at + 1) & c->mask;
    return &c->slots[at];
}

static void grow_slots(struct contexts *c)
{
    u32 size = c->slots ? 2 * (c->mask + 1) : FIRST_SLOTS;
    free(c->slots);
    c->slots = calloc(size, sizeof *c->slots);
    check(c->slots != NULL);
    c->mask = size - 1;
    for (u32 i = 0; i < c->v.n; i++)
        if (c->v.v[i].parent != CONTEXT_NONE)
            *find_slot(c, c->v.v[i].parent, c->v.v[i].pc, c->v.v[i].signal) = i + 1;
}

static u32 look_up(struct contexts *c, u32 parent, u64 pc, u8 signal)
{
    if (c->used >= c->mask / 2)
        grow_slots(c);
    u32 *slot = find_slot(c, parent, pc, signal);
    if (!*slot) {
        c->used++;
        *slot = add_context(c, (struct context){.pc = pc, .parent = parent, .signal = signal}) + 1;
    }
    return *slot - 1;
}

u32 context_child(struct contexts *c, u32 parent, u64 pc, u8 signal)
{
    u32 child = c->v.v[parent].child;
    if (child == CONTEXT_NONE || !is_child(&c->v.v[child], parent, pc, signal))
        c->v.v[parent].child = child = look_up(c, parent, pc, signal);
    return child;
}

/* The jump that was made last comes first. */
static struct context_jump *find_jump(struct contexts *c, u32 from, u64 pc)
{
    u32 *first = &c->v.v[from].jumps;
    for (u32 *at = first; *at != CONTEXT_NONE; at = &c->jumps.v[*at].next) {
        struct context_jump *j = &c->jumps.v[*at];
        if (c->v.v[j->to].pc != pc)
            continue;
        u32 found = *at;
        *at = j->next;
        j->next = *first;
        *first = found;
        return j;
    }
    return NULL;
}

u32 context_sibling(struct contexts *c, u32 from, u64 pc)
{
    struct context_jump *j = find_jump(c, from, pc);
    if (!j) {
        u32 to = look_up(c, c->v.v[from].parent, pc, 0);
        check(c->jumps.n < CONTEXT_NONE);
        vec_push(&c->jumps, ((struct context_jump){.to = to, .next = c->v.v[from].jumps}));
        c->v.v[from].jumps = (u32)c->jumps.n - 1;
        j = &c->jumps.v[c->jumps.n - 1];
    }
    j->count++;
    return j->to;
}

void contexts_fini(struct contexts *c)
{
    vec_fini(&c->v);
    vec_fini(&c->jumps);
    free(c->slots);
}
