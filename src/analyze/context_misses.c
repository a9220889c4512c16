/* SPDX-License-Identifier: MIT */
/* One hierarchy for all memories, in one part; it tells what each touch missed. */
#include "analyze/context_misses.h"

#include <stdlib.h>
#include <string.h>

void context_misses_init(struct context_misses *m)
{
    shape_given_init(&m->given);
}

int context_misses_set(struct context_misses *m, const char *option, const char *value, struct err *e)
{
    const int other = strcmp(option, "misses") ? shape_given_set(&m->given, option, value, e) : 0;
    m->wanted |= !other;
    return other;
}

int context_misses_begin(struct context_misses *m, struct err *e)
{
    if (!m->wanted)
        return 0;
    if (shape_given_choose(&m->given, &m->shape, e))
        return -1;
    hierarchy_init(&m->hierarchy, &m->shape, 1, false, NULL, true);
    return 0;
}

void context_misses_fini(struct context_misses *m)
{
    if (m->hierarchy.shape)
        hierarchy_fini(&m->hierarchy);
}

struct context_misses_memory *context_misses_memory(struct context_misses *m, u32 number, const struct unit_table *t)
{
    if (!m->wanted)
        return NULL;
    struct context_misses_memory *x = zeros(1, sizeof *x);
    struct touch_plan p = {.table = t, .timed = true};
    p.lines[TOUCH_OF_CODE] = hierarchy_rule(&m->hierarchy, SIDE_code);
    p.lines[TOUCH_OF_DATA] = hierarchy_rule(&m->hierarchy, SIDE_data);
    x->misses = m;
    x->tally = (struct tally){.table = t, .owner = cache_owner(number), .slots = slots_of(&m->shape).n, .number = number};
    makers_init(&x->makers, &p);
    return x;
}

void context_misses_end(struct context_misses_memory *x)
{
    if (!x)
        return;
    makers_fini(&x->makers);
    tally_fini(&x->tally);
    free(x);
}

struct context_misses_work *context_misses_work(struct context_misses_memory *x)
{
    if (!x)
        return NULL;
    struct context_misses_work *w = zeros(1, sizeof *w);
    w->memory = x;
    touches_init(&w->touches, 1, shape_block(&x->misses->shape));
    return w;
}

void context_misses_open(struct context_misses_work *w, u32 thread)
{
    if (!w)
        return;
    struct context_misses *m = w->memory->misses;
    w->maker = makers_lend(&w->memory->makers);
    touches_open(&w->touches, &w->maker->lines);
    w->core = thread % m->shape.cores;
    hierarchy_add_core(&m->hierarchy, w->core);
}

void context_misses_add(struct context_misses_work *w, const struct events *e)
{
    if (w)
        touches_add(&w->touches, e);
}

void context_misses_close(struct context_misses_work *w)
{
    if (w)
        makers_take_back(&w->memory->makers, w->maker);
}

static void count(u32 *misses, const struct touch *x, u32 missed, u32 last)
{
    misses[x->id & TOUCH_CODE ? MISS_i1 : MISS_d1] += missed & 1;
    misses[MISS_ll] += missed >> last & 1;
}

void context_misses_take(struct context_misses_work *w, struct moves *moves)
{
    if (!w)
        return;
    struct context_misses *m = w->memory->misses;
    const struct hierarchy_part *part = &m->hierarchy.part[0];
    hierarchy_take(&m->hierarchy, 0, w->core, false, &w->memory->tally, &w->touches);
    u64 end = 0; /* of what ran before move k */
    size_t k = 0, n;
    const struct touch *list = touches_of(&w->touches, 0, &n);
    for (size_t i = 0; i < part->told.n; i++) {
        const struct told *x = &part->told.v[i];
        const u64 when = w->touches.times.v[x->touch] + moves->again;
        while (k < moves->list.n && end + moves->list.v[k].counts.insns < when)
            end += moves->list.v[k++].counts.insns;
        count(k < moves->list.n ? moves->list.v[k].misses : moves->rest_misses, &list[x->touch], x->missed, m->shape.n_levels - 1);
    }
}

void context_misses_merge(struct context_misses_work *w)
{
    if (!w)
        return;
    touches_fini(&w->touches);
    free(w);
}
