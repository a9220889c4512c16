/* SPDX-License-Identifier: MIT */
/* What a hierarchy can be. */
#include "analyze/shape.h"

#include <stdio.h>
#include <string.h>

const char *const policy_words[5] = {"lru", "plru", "fifo", "random", "rrip"};
const char *const writing_words[3] = {"back", "through", "ignore"};
const char *const inclusion_words[3] = {"neither", "inclusive", "exclusive"};
const char *const prefetch_words[3] = {"none", "next", "stride"};

static bool is_power_of_two(u64 x)
{
    return x && !(x & (x - 1));
}

u64 shape_sets(const struct cache_shape *s)
{
    return s->size / s->line / s->ways;
}

static const char *ways_fault(u32 ways, enum policy policy)
{
    if (!ways || ways > 1024)
        return "it has not between 1 and 1024 ways";
    if (policy == POLICY_plru && (!is_power_of_two(ways) || ways > 64))
        return "policy=plru wants ways that are a power of two, at most 64";
    return NULL;
}

const char *cache_shape_fault(const struct cache_shape *s)
{
    if (!is_power_of_two(s->line) || s->line < 16 || s->line > 4096)
        return "its lines are not a power of two between 16 and 4096 bytes";
    const char *fault = ways_fault(s->ways, s->policy);
    if (fault)
        return fault;
    if (!s->size || s->size % ((u64)s->line * s->ways))
        return "its size is not a multiple of line size times ways";
    if (s->size > 1ull << 32)
        return "it has more than 4 GB";
    return NULL;
}

const char *tlb_shape_fault(const struct tlb_shape *s)
{
    const char *fault = ways_fault(s->ways, s->policy);
    if (fault)
        return fault;
    if (!s->entries || s->entries > 1 << 20 || s->entries % s->ways)
        return "its entries are not a multiple of its ways, up to 1048576";
    return NULL;
}

/* -- Levels -------------------------------------------------------------------------------------- */

/* The cache of a level that one side uses; n_caches if there is none. */
static u32 find_cache(const struct shape *s, u32 level, enum side side)
{
    for (u32 i = 0; i < s->n_caches; i++) {
        const char *name = s->cache[i].name;
        if (name[1] == (char)('1' + level) &&
            (!name[2] || name[2] == (side == SIDE_code ? 'I' : 'D')))
            return i;
    }
    return s->n_caches;
}

static int find_levels(struct shape *s, struct err *e)
{
    u32 used = 0;
    for (s->n_levels = 0; s->n_levels < SHAPE_LEVELS; s->n_levels++) {
        const u32 k = s->n_levels, data = find_cache(s, k, SIDE_data),
                  code = find_cache(s, k, SIDE_code);
        if (data == s->n_caches && code == s->n_caches)
            break;
        if (data == s->n_caches || code == s->n_caches)
            return err_set(e, "level %u has a cache for %s alone; L%u%c is missing", k + 1,
                           data == s->n_caches ? "code" : "data", k + 1,
                           data == s->n_caches ? 'D' : 'I');
        if (data != code && k && s->path[SIDE_data][k - 1] == s->path[SIDE_code][k - 1])
            return err_set(e, "level %u is one cache for code and data, so level %u must be too", k,
                           k + 1);
        s->path[SIDE_data][k] = data;
        s->path[SIDE_code][k] = code;
        used += data == code ? 1 : 2;
    }
    if (!s->n_levels)
        return err_set(e, "there is no cache of the first level: L1I and L1D, or L1");
    return used == s->n_caches ? 0
                               : err_set(e, "no level may be left out, and none may have both "
                                            "one cache for all and one for code or data");
}

/* -- What fits what ------------------------------------------------------------------------------ */

static bool passes_more_than_misses(const struct cache_shape *c)
{
    return c->writing != WRITING_ignore || c->inclusion || c->prefetch || c->is_private;
}

static int check_lines(const struct shape *s, struct err *e)
{
    for (u32 i = 0; i < s->n_caches; i++)
        for (u32 j = 0; j < s->n_caches; j++)
            if (s->cache[i].line != s->cache[j].line && passes_more_than_misses(&s->cache[j]))
                return err_set(
                    e,
                    "%s and %s have lines of different lengths: that needs write=ignore in all "
                    "caches, and none that is private, inclusive, exclusive or prefetches",
                    s->cache[i].name, s->cache[j].name);
    return 0;
}

static int check_writing(const struct shape *s, struct err *e)
{
    for (u32 i = 1; i < s->n_caches; i++)
        if ((s->cache[i].writing == WRITING_ignore) != (s->cache[0].writing == WRITING_ignore))
            return err_set(e, "write=ignore holds for all caches or for none; %s and %s differ",
                           s->cache[0].name, s->cache[i].name);
    return 0;
}

/* A cache, and the one before it on a side's path. */
static int check_step(const struct cache_shape *c, const struct cache_shape *above, struct err *e)
{
    if (c->is_private && !above->is_private)
        return err_set(e, "%s is private, but lies behind %s, which is shared", c->name,
                       above->name);
    if (c->inclusion == INCLUSION_exclusive && (above->writing != WRITING_back || above->bypassed))
        return err_set(e, "%s is exclusive: %s must have write=back and allocate=yes", c->name,
                       above->name);
    return 0;
}

static int check_cache(const struct cache_shape *c, u32 level, struct err *e)
{
    if (c->inclusion && !level)
        return err_set(e, "%s is the first level: there is nothing that it could be %s of", c->name,
                       inclusion_words[c->inclusion]);
    if (c->inclusion && c->bypassed)
        return err_set(e, "%s is %s: it must have allocate=yes", c->name,
                       inclusion_words[c->inclusion]);
    if (c->inclusion && c->writing == WRITING_ignore)
        return err_set(e, "%s is %s: it must have write=back or write=through", c->name,
                       inclusion_words[c->inclusion]);
    if (c->inclusion == INCLUSION_exclusive && (c->prefetch || c->writing != WRITING_back))
        return err_set(e, "%s is exclusive: it must have write=back and prefetch=none", c->name);
    if (c->bypassed && c->writing == WRITING_ignore)
        return err_set(e, "%s has write=ignore: it must have allocate=yes", c->name);
    return 0;
}

static int check_path(const struct shape *s, enum side side, struct err *e)
{
    for (u32 k = 0; k < s->n_levels; k++) {
        const struct cache_shape *c = &s->cache[s->path[side][k]];
        if (check_cache(c, k, e) || (k && check_step(c, &s->cache[s->path[side][k - 1]], e)))
            return -1;
        if (side == SIDE_code && c->prefetch == PREFETCH_stride &&
            s->path[SIDE_data][k] != s->path[side][k])
            return err_set(e, "%s is for code: it can only have prefetch=next", c->name);
        if (c->is_private != s->cache[s->path[SIDE_data][k]].is_private)
            return err_set(e, "the caches of level %u must all be private or all shared", k + 1);
    }
    return 0;
}

static void find_tlb_levels(struct shape *s)
{
    for (u32 i = 0; i < s->n_tlbs; i++)
        s->n_tlb_levels = MAX(s->n_tlb_levels, s->tlb[i].level + 1);
}

int shape_join(struct shape *s, struct err *e)
{
    find_tlb_levels(s);
    return find_levels(s, e) || check_path(s, SIDE_data, e) || check_path(s, SIDE_code, e) ||
                   check_writing(s, e) || check_lines(s, e)
               ? -1
               : 0;
}

/* -- Parts --------------------------------------------------------------------------------------- */

u32 shape_private_levels(const struct shape *s)
{
    u32 k = 0;
    while (k < s->n_levels && s->cache[s->path[SIDE_data][k]].is_private)
        k++;
    return k;
}

u32 shape_block(const struct shape *s)
{
    u32 block = 0;
    for (u32 i = 0; i < s->n_caches; i++)
        block = MAX(block, s->cache[i].line);
    return block;
}

/* A set belongs to one part if its number tells the part of all its lines. */
static bool can_be_parted(const struct shape *s, u32 parts)
{
    for (u32 i = 0; i < s->n_caches; i++) {
        const struct cache_shape *c = &s->cache[i];
        if (c->prefetch || shape_sets(c) % (parts * (u64)(shape_block(s) / c->line)))
            return false;
    }
    return true;
}

u32 shape_parts(const struct shape *s, u32 limit)
{
    u32 parts = limit;
    while (parts > 1 && !can_be_parted(s, parts))
        parts--;
    return MAX(parts, 1u);
}

/* -- Two levels ---------------------------------------------------------------------------------- */

static void take_plain(struct cache_shape *to, const struct cache_shape *from, const char *name)
{
    *to = (struct cache_shape){
        .size = from->size, .ways = from->ways, .line = from->line, .writing = WRITING_ignore};
    snprintf(to->name, sizeof to->name, "%s", name);
}

void shape_of_two(struct shape *s, const struct shape *from)
{
    const u32 last = from->n_levels - 1;
    *s = (struct shape){.n_caches = 3, .n_levels = 2, .cores = 1};
    take_plain(&s->cache[0], &from->cache[from->path[SIDE_code][0]], "I1");
    take_plain(&s->cache[1], &from->cache[from->path[SIDE_data][0]], "D1");
    take_plain(&s->cache[2], &from->cache[from->path[SIDE_data][last]], "LL");
    s->path[SIDE_data][0] = 1;
    s->path[SIDE_data][1] = s->path[SIDE_code][1] = 2;
}

/* -- Time --------------------------------------------------------------------------------------- */

enum { FIRST_CYCLES = 4, MIDDLE_CYCLES = 14, LAST_CYCLES = 40, MEMORY_CYCLES = 200, COMMON_IPC = 2 };

u32 shape_latency(const struct shape *s, u32 level)
{
    if (level >= s->n_levels)
        return s->memory ? s->memory : MEMORY_CYCLES;
    const u32 described = s->cache[s->path[SIDE_data][level]].latency;
    if (described)
        return described;
    return !level ? FIRST_CYCLES : level + 1 < s->n_levels ? MIDDLE_CYCLES : LAST_CYCLES;
}

double shape_ipc(const struct shape *s)
{
    return s->ipc > 0 ? s->ipc : COMMON_IPC;
}
