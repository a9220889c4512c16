/* SPDX-License-Identifier: MIT */
/* Lines on their way through the levels. */
#include "analyze/hierarchy.h"

enum { PAGE_SHIFT = 12 };

/* What is asked of a level. */
enum { ASK_write = 1, ASK_store = 2, ASK_demand = 4 };

static u64 reach(struct visit *v, u32 level, u64 number, u32 ask);

static u32 index_of(const struct visit *v, enum side side, u32 level)
{
    return v->h->shape->path[side][level];
}

static const struct cache_shape *shape_at(const struct visit *v, enum side side, u32 level)
{
    return &v->h->shape->cache[index_of(v, side, level)];
}

static struct cache *cache_at(const struct visit *v, enum side side, u32 level)
{
    return v->core->cache[index_of(v, side, level)];
}

static struct cache_stats *stats_at(struct visit *v, enum side side, u32 level)
{
    return &v->part->stats[index_of(v, side, level)];
}

/* -- Why ---------------------------------------------------------------------------------------- */

static bool is_watched(const struct visit *v, u32 cache)
{
    return v->h->why && v->h->why->cache == cache;
}

static struct why_touch touch_of(const struct visit *v)
{
    return (struct why_touch){v->core_number, v->tally, v->id, v->address, v->size};
}

/* -- Out ---------------------------------------------------------------------------------------- */

/* Take a line out of all caches of a core that lie before this one; whether it was dirty in one of them. */
static u64 withdraw_from(struct visit *v, u32 number, const struct core *core, enum side side,
                         u32 level, u64 line, u64 *copies)
{
    const struct shape *s = v->h->shape;
    u64 dirty = 0;
    for (u32 other = 0; other < SIDES; other++)
        for (u32 k = 0; k < level && s->path[other][level] == s->path[side][level]; k++) {
            u64 copy = cache_remove(core->cache[s->path[other][k]], line);
            *copies += copy != 0;
            dirty |= copy & LINE_DIRTY;
            if (copy && is_watched(v, s->path[other][k]))
                why_take(v->h->why, number, line);
        }
    return dirty;
}

/* An inclusive cache has lost a line: those before it lose it too. */
static u64 withdraw(struct visit *v, enum side side, u32 level, u64 line)
{
    u64 *copies = &stats_at(v, side, level)->withdrawn;
    if (shape_at(v, side, level)->is_private)
        return withdraw_from(v, v->core_number, v->core, side, level, line, copies);
    u64 dirty = 0;
    for (u32 i = 0; i < load_acquire(&v->h->n_cores); i++) {
        const struct core *core = load_acquire(&v->h->core[i]);
        if (core)
            dirty |= withdraw_from(v, i, core, side, level, line, copies);
    }
    return dirty;
}

static void evict(struct visit *v, enum side side, u32 level, u64 line)
{
    const struct shape *s = v->h->shape;
    const bool last = level + 1 == s->n_levels;
    if (shape_at(v, side, level)->inclusion == INCLUSION_inclusive)
        line |= withdraw(v, side, level, line & ~LINE_STATE);
    if (line & LINE_DIRTY)
        stats_at(v, side, level)->writebacks++;
    if (!last &&
        (line & LINE_DIRTY || shape_at(v, side, level + 1)->inclusion == INCLUSION_exclusive))
        levels_give(v, side, level + 1, line & (~LINE_STATE | LINE_DIRTY | LINE_SHARED));
}

static void put(struct visit *v, enum side side, u32 level, u64 line)
{
    if (level >= v->h->private_levels)
        line &= ~LINE_SHARED;
    u64 old = cache_put(cache_at(v, side, level), line);
    if (is_watched(v, index_of(v, side, level))) {
        const struct why_touch t = touch_of(v);
        why_put(v->h->why, &t, line & ~LINE_STATE, old & ~LINE_STATE);
    }
    if (old)
        evict(v, side, level, old);
}

void levels_give(struct visit *v, enum side side, u32 level, u64 line)
{
    if (level == v->h->shape->n_levels)
        return;
    const struct cache_shape *s = shape_at(v, side, level);
    const bool passes_on = line & LINE_DIRTY && s->writing == WRITING_through;
    u64 *there = cache_peek(cache_at(v, side, level), line & ~LINE_STATE);
    if (there && !passes_on)
        *there |= line & LINE_DIRTY;
    if (!there && !s->bypassed)
        put(v, side, level, passes_on ? line & ~LINE_DIRTY : line);
    if (passes_on || (!there && s->bypassed))
        levels_give(v, side, level + 1, line);
}

/* -- Prefetches --------------------------------------------------------------------------------- */

/* Ask the next level for what a line of this one covers; LINE_DIRTY if it comes from there dirty, and is not there any more. */
static u64 ask_below(struct visit *v, u32 level, u64 number, u32 ask)
{
    if (level + 1 == v->h->shape->n_levels)
        return 0;
    const u32 line = shape_at(v, v->side, level)->line,
              other = shape_at(v, v->side, level + 1)->line;
    if (line == other)
        return reach(v, level + 1, number, ask);
    for (u64 n = number * line / other; n <= (number * line + line - 1) / other; n++)
        reach(v, level + 1, n, ask);
    return 0;
}

/* Where the instruction would be next; where it is if that is not known. */
static u64 next_address(struct visit *v, struct stride *strides)
{
    const u64 pc = tally_pc(v->tally, v->id);
    const u64 key = (pc & ((1ull << 48) - 1)) | (v->tally->owner >> 44) << 48 | 1ull << 63;
    struct stride *s = &strides[pc % STRIDES];
    if (s->pc != key) {
        *s = (struct stride){.pc = key, .address = v->address};
        return v->address;
    }
    s64 step = (s64)(v->address - s->address);
    if (step && step == s->step)
        s->seen = MIN(s->seen + 1, (u32)STRIDE_LIMIT);
    else
        s->seen = 0;
    s->step = step;
    s->address = v->address;
    return s->seen >= STRIDE_SURE ? v->address + (u64)step : v->address;
}

/* A line that was asked for may bring another one of its page. */
static void prefetch(struct visit *v, u32 level, u64 number, bool missed)
{
    const struct cache_shape *s = shape_at(v, v->side, level);
    const u32 log2 = (u32)__builtin_ctz(s->line);
    u64 target = missed ? number + 1 : number;
    if (s->prefetch == PREFETCH_stride) {
        if (v->side == SIDE_code)
            return;
        target = next_address(v, v->core->strides[index_of(v, v->side, level)]) >> log2;
    }
    if (target == number || target << log2 >> PAGE_SHIFT != number << log2 >> PAGE_SHIFT ||
        cache_peek(cache_at(v, v->side, level), target | v->tally->owner))
        return;
    stats_at(v, v->side, level)->prefetches++;
    const u64 shared = v->shared, line = target | v->tally->owner;
    if (level < v->h->private_levels)
        v->shared = coherence_agree(v, line, false, true);
    u64 dirty = ask_below(v, level, target, 0);
    put(v, v->side, level, line | dirty | v->shared | LINE_PREFETCHED);
    v->shared = shared;
}

/* -- In ----------------------------------------------------------------------------------------- */

static u64 hit(struct visit *v, u32 level, u64 number, u64 *there, u32 ask)
{
    const struct cache_shape *s = shape_at(v, v->side, level);
    u64 state = *there & LINE_STATE;
    if (state & LINE_PREFETCHED && ask & ASK_demand) {
        stats_at(v, v->side, level)->useful++;
        *there &= ~LINE_PREFETCHED;
    }
    if (s->inclusion == INCLUSION_exclusive) {
        cache_remove(cache_at(v, v->side, level), number | v->tally->owner);
        return state & LINE_DIRTY;
    }
    if (ask & ASK_write && s->writing == WRITING_through)
        ask_below(v, level, number, ask);
    else if (ask & ASK_write)
        *there |= LINE_DIRTY;
    return 0;
}

/* Whether a level that misses will not have the line either. */
static bool passes_by(const struct visit *v, u32 level, u32 ask)
{
    return ask & ASK_store && shape_at(v, v->side, level)->bypassed;
}

/* A write that the level does not keep to itself goes on as one; else only the line is wanted. */
static u64 miss(struct visit *v, u32 level, u64 number, u32 ask)
{
    const struct cache_shape *s = shape_at(v, v->side, level);
    const bool goes_on = passes_by(v, level, ask) || s->writing == WRITING_through;
    u64 dirty = ask_below(v, level, number, goes_on ? ask : ask & ASK_demand);
    if (s->inclusion == INCLUSION_exclusive)
        return dirty;
    if (ask & ASK_write && !goes_on)
        dirty = LINE_DIRTY;
    if (!passes_by(v, level, ask))
        put(v, v->side, level, number | v->tally->owner | dirty | v->shared);
    return 0;
}

/* Ask a level for a line; LINE_DIRTY if it has given it away dirty. */
static u64 reach(struct visit *v, u32 level, u64 number, u32 ask)
{
    u64 *there = cache_find(cache_at(v, v->side, level), number | v->tally->owner);
    if (ask & ASK_demand && is_watched(v, index_of(v, v->side, level))) {
        const struct why_touch t = touch_of(v);
        why_ask(v->h->why, &t, number | v->tally->owner, there != NULL, !passes_by(v, level, ask));
    }
    u64 dirty = there ? hit(v, level, number, there, ask) : miss(v, level, number, ask);
    if (!(ask & ASK_demand))
        return dirty;
    if (!there)
        v->missed |= 1u << level;
    if (shape_at(v, v->side, level)->prefetch)
        prefetch(v, level, number, !there);
    return dirty;
}

/* What a touch asks for, see touches.h. */
static u32 ask_of(u32 flags)
{
    return ASK_demand | (flags & TOUCH_WRITE ? ASK_write : 0) |
           (flags & TOUCH_STORE ? ASK_store : 0);
}

void levels_visit(struct visit *v, u64 number)
{
    const u64 line = number | v->tally->owner;
    const bool writes = v->flags & TOUCH_WRITE;
    v->shared = 0;
    if (v->h->private_levels) {
        const u64 *there = cache_peek(cache_at(v, v->side, 0), line);
        if (!there || (writes && *there & LINE_SHARED))
            v->shared = coherence_agree(v, line, writes, false);
        if (writes && v->h->shares)
            sharing_write(&v->part->sharing, line, v->core_number, v->bytes);
    }
    const u32 missed = v->missed; /* in other lines of the touch */
    v->missed = 0;
    reach(v, 0, number, ask_of(v->flags));
    if (v->h->why && v->h->why->takes[v->side]) {
        const struct why_touch t = touch_of(v);
        why_use(v->h->why, &t, v->missed);
    }
    v->missed |= missed;
}
