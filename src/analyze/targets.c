/* SPDX-License-Identifier: MIT */
/* Last targets, and returns. */
#include "analyze/targets.h"
#include "base/err.h"

#include <stdlib.h>

void last_targets_init(struct last_targets *t, u32 size)
{
    *t = (struct last_targets){zeros(size, sizeof *t->v), size};
}

void return_stack_init(struct return_stack *s, u32 size)
{
    *s = (struct return_stack){.v = zeros(size, sizeof *s->v), .size = size};
}

static void push(struct return_stack *s, u64 address)
{
    s->v[s->top] = address;
    s->top = (s->top + 1) % s->size;
    s->n += s->n < s->size;
}

/* An empty one foretells nothing. */
static bool pop_is(struct return_stack *s, u64 address)
{
    if (!s->n)
        return false;
    s->n--;
    s->top = (s->top + s->size - 1) % s->size;
    return s->v[s->top] == address;
}

/* Does the branch go where it went the last time? From now on that is the last time. */
static bool goes_again(struct last_targets *t, const struct hop *h)
{
    struct last_target *e = &t->v[h->at & (t->size - 1)];
    bool right = e->used && e->at == h->at && e->target == h->target;
    *e = (struct last_target){h->target, h->at, true};
    return right;
}

void hop_run(struct last_targets *t, struct return_stack *s, const struct hop *h,
             struct hop_tally *tally)
{
    const enum hop_kind kind = h->what & 3;
    const u32 number = h->what >> 2;
    if (kind == HOP_push) {
        push(s, h->target);
        return;
    }
    bool right = kind == HOP_ret ? pop_is(s, h->target) : goes_again(t, h);
    vec_reach(&tally->count, number);
    tally->count.v[number].executed++;
    tally->count.v[number].missed += !right;
}
