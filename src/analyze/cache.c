/* SPDX-License-Identifier: MIT */
/* The simulator. Most touches find their line where it was used last; the rest are searched for and moved to the front. */
#include "analyze/cache.h"

#include <stdlib.h>
#include <string.h>

static bool is_power_of_two(u64 x)
{
    return x && !(x & (x - 1));
}

const char *cache_shape_fault(const struct cache_shape *s)
{
    if (!is_power_of_two(s->line) || s->line < 16 || s->line > 4096)
        return "its lines are not a power of two between 16 and 4096 bytes";
    if (!s->ways || s->ways > 1024)
        return "it has not between 1 and 1024 ways";
    if (!s->size || s->size % ((u64)s->line * s->ways))
        return "its size is not a multiple of line size times ways";
    if (s->size > 1ull << 32)
        return "it has more than 4 GB";
    return NULL;
}

void cache_init(struct cache *c, const struct cache_shape shape[CACHE_LEVELS])
{
    for (u32 k = 0; k < CACHE_LEVELS; k++) {
        const struct cache_shape *s = &shape[k];
        struct cache_level_state *v = &c->level[k];
        c->shape[k] = *s;
        *v = (struct cache_level_state){.sets = s->size / s->line / s->ways,
                                        .ways = s->ways,
                                        .log2 = (u32)__builtin_ctz(s->line)};
        v->lines = calloc(v->sets * v->ways, sizeof *v->lines);
        check(v->lines != NULL);
    }
}

void cache_fini(struct cache *c)
{
    for (u32 k = 0; k < CACHE_LEVELS; k++)
        free(c->level[k].lines);
}

void cache_memory_fini(struct cache_memory *m)
{
    vec_fini(&m->insns);
    vec_fini(&m->refs);
}

/* Move the line to the front of its set; was it there? */
static __attribute__((noinline)) bool find_line(u64 *set, u32 ways, u64 line)
{
    u32 k = 1;
    while (k < ways && set[k] != line)
        k++;
    bool hit = k < ways;
    memmove(set + 1, set, (hit ? k : ways - 1) * sizeof *set);
    set[0] = line;
    return hit;
}

static inline bool use_line(const struct cache_level_state *v, u64 line)
{
    u64 set = v->sets & (v->sets - 1) ? line % v->sets : line & (v->sets - 1);
    u64 *lines = v->lines + set * v->ways;
    return lines[0] == line || find_line(lines, v->ways, line);
}

/* Lines are told apart by what stands above all addresses: never 0, so that no line is taken for an empty place. */
static inline bool use(const struct cache_level_state *v, u64 owner, u64 address, u32 size)
{
    u64 first = (address >> v->log2) | owner, last = ((address + size - 1) >> v->log2) | owner;
    bool hit = use_line(v, first);
    for (u64 line = first + 1; line <= last; line++)
        hit &= use_line(v, line);
    return hit;
}

static struct cache_misses *misses_of(struct cache_memory *m, u32 id)
{
    u32 i = id & ~TOUCH_CODE;
#define AT(vec)                                                          \
    do {                                                                 \
        if (i >= (vec)->n) {                                             \
            size_t more_ = (size_t)i + 4096 - (vec)->n;                  \
            memset(vec_grow(vec, more_), 0, more_ * sizeof *(vec)->v);   \
        }                                                                \
        return &(vec)->v[i];                                             \
    } while (0)
    if (id & TOUCH_CODE)
        AT(&m->insns);
    AT(&m->refs);
#undef AT
}

static __attribute__((noinline)) void miss(const struct cache *c, struct cache_memory *m,
                                           u64 owner, const struct touch *t)
{
    struct cache_misses *x = misses_of(m, t->id);
    x->first++;
    x->last += !use(&c->level[CACHE_LL], owner, t->address, t->size);
}

void cache_take(struct cache *c, struct cache_memory *m, const struct touch *v, size_t n)
{
    const u64 owner = (m->number + 1) << 44;
    for (const struct touch *t = v; t < v + n; t++) {
        u32 level = t->id & TOUCH_CODE ? CACHE_I1 : CACHE_D1;
        if (!use(&c->level[level], owner, t->address, t->size))
            miss(c, m, owner, t);
    }
}
