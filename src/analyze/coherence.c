/* SPDX-License-Identifier: MIT */
/* Cores that have the same line, as MESI has it. A line is in a core if it is in one of its private caches; all of these say alike
 * whether it is shared. */
#include "analyze/hierarchy.h"

/* Each private cache of the core that has the line: one call after the other, *at counts. */
static u64 *next_copy(const struct visit *v, const struct core *core, u64 line, u32 *at)
{
    const struct shape *s = v->h->shape;
    while (*at < s->n_caches) {
        u32 i = (*at)++;
        u64 *there = s->cache[i].is_private ? cache_peek(core->cache[i], line) : NULL;
        if (there)
            return there;
    }
    return NULL;
}

static bool has_copy(const struct visit *v, const struct core *core, u64 line, u64 *state)
{
    u32 at = 0;
    const u64 *there = next_copy(v, core, line, &at);
    *state = there ? *there & LINE_STATE : 0;
    return there != NULL;
}

/* All copies of a core become shared and clean, or not shared; whether one was dirty. */
static u64 set_shared(const struct visit *v, const struct core *core, u64 line, bool shared)
{
    u64 dirty = 0, *there;
    for (u32 at = 0; (there = next_copy(v, core, line, &at));) {
        dirty |= *there & LINE_DIRTY;
        *there = shared ? (*there | LINE_SHARED) & ~LINE_DIRTY : *there & ~LINE_SHARED;
    }
    return dirty;
}

static u64 invalidate(struct visit *v, const struct core *core, u32 number, u64 line)
{
    const struct shape *s = v->h->shape;
    u64 dirty = 0;
    for (u32 i = 0; i < s->n_caches; i++)
        if (s->cache[i].is_private) {
            const u64 copy = cache_remove(core->cache[i], line);
            dirty |= copy & LINE_DIRTY;
            if (copy && v->h->why && v->h->why->cache == i)
                why_take(v->h->why, number, line);
        }
    v->part->coherence.invalidations++;
    tally_of(v->tally, v->id)[v->h->slots.invalidated]++;
    if (v->h->shares)
        sharing_lose(&v->part->sharing, line, number, tally_pc(v->tally, v->id));
    return dirty;
}

/* Tell each other core that has the line; whether there was one. */
static bool tell_others(struct visit *v, u64 line, bool writes)
{
    bool found = false;
    u64 ignored;
    for (u32 i = 0; i < load_acquire(&v->h->n_cores); i++) {
        const struct core *other = load_acquire(&v->h->core[i]);
        if (!other || other == v->core || !has_copy(v, other, line, &ignored))
            continue;
        found = true;
        u64 dirty = writes ? invalidate(v, other, i, line) : set_shared(v, other, line, true);
        if (!dirty)
            continue;
        v->part->coherence.interventions++;
        levels_give(v, SIDE_data, v->h->private_levels, line | LINE_DIRTY);
    }
    return found;
}

/* The core gets a line that it had not. If it had lost it to a write, that is a miss that it would not have had alone. */
static void regain(struct visit *v, u64 line, bool is_prefetch)
{
    const struct slots *slots = &v->h->slots;
    enum regained r =
        sharing_regain(&v->part->sharing, line, v->core_number, v->bytes, is_prefetch);
    if (r == REGAINED_no)
        return;
    u64 *n = tally_of(v->tally, v->id);
    n[slots->regained]++;
    n[slots->regained_false] += r == REGAINED_false;
}

u64 coherence_agree(struct visit *v, u64 line, bool writes, bool is_prefetch)
{
    u64 state;
    if (load_acquire(&v->h->n_cores) == 1)
        return 0;
    const bool mine = has_copy(v, v->core, line, &state);
    if (mine && !(writes && state & LINE_SHARED))
        return state & LINE_SHARED;
    if (mine)
        v->part->coherence.upgrades++;
    else if (v->h->shares)
        regain(v, line, is_prefetch);
    bool others = tell_others(v, line, writes);
    if (mine)
        set_shared(v, v->core, line, false);
    return others && !writes ? LINE_SHARED : 0;
}
