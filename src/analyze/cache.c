/* SPDX-License-Identifier: MIT */
/* The simulator: of each set the lines in the order of their use, the latest first. */
#include "analyze/cache.h"

#include <immintrin.h>
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
        size_t bytes = ALIGN_UP(v->sets * v->ways * sizeof *v->lines, 64);
        v->lines = aligned_alloc(64, bytes);
        check(v->lines != NULL);
        memset(v->lines, 0, bytes);
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

/* -- One set ------------------------------------------------------------------------------------ */

#define VECTOR __attribute__((target("avx512f,avx512vl,bmi")))
enum { VECTOR_WAYS = 8 };

/* Move the line to the front of its set; was it there? */
static bool use_in_set(u64 *set, u32 ways, u64 line)
{
    u32 k = 0;
    while (k < ways - 1 && set[k] != line)
        k++;
    bool hit = set[k] == line;
    for (; k; k--)
        set[k] = set[k - 1];
    set[0] = line;
    return hit;
}

/* The same for a set of 8, which is a vector: no branch depends on where in it the line is. */
static inline VECTOR bool use_in_vector(u64 *set, u64 line)
{
    static const u64 to_front[VECTOR_WAYS][VECTOR_WAYS] = {
        {0, 1, 2, 3, 4, 5, 6, 7}, {0, 0, 2, 3, 4, 5, 6, 7}, {0, 0, 1, 3, 4, 5, 6, 7},
        {0, 0, 1, 2, 4, 5, 6, 7}, {0, 0, 1, 2, 3, 5, 6, 7}, {0, 0, 1, 2, 3, 4, 6, 7},
        {0, 0, 1, 2, 3, 4, 5, 7}, {0, 0, 1, 2, 3, 4, 5, 6},
    };
    __m512i v = _mm512_load_si512(set), it = _mm512_set1_epi64((s64)line);
    u32 found = _mm512_cmpeq_epi64_mask(v, it);
    u32 k = (u32)__builtin_ctz(found | 1 << (VECTOR_WAYS - 1));
    v = _mm512_permutexvar_epi64(_mm512_loadu_si512(to_front[k]), v);
    _mm512_store_si512(set, _mm512_mask_mov_epi64(v, 1, it));
    return found;
}

static inline u64 *set_of(const struct cache_level_state *v, u64 line)
{
    u64 set = v->sets & (v->sets - 1) ? line % v->sets : line & (v->sets - 1);
    return v->lines + set * v->ways;
}

/* -- One touch ---------------------------------------------------------------------------------- */

/* Lines are told apart by what stands above all addresses: never 0, so that no line is taken for an empty place. */
static inline bool use(const struct cache_level_state *v, u64 owner, u64 address, u32 size)
{
    u64 first = (address >> v->log2) | owner, last = ((address + size - 1) >> v->log2) | owner;
    bool hit = true;
    for (u64 line = first; line <= last; line++)
        hit &= use_in_set(set_of(v, line), v->ways, line);
    return hit;
}

static struct cache_misses *misses_of(struct cache_memory *m, u32 id)
{
    u32 i = id & ~TOUCH_CODE;
    if (id & TOUCH_CODE) {
        vec_reach(&m->insns, i);
        return &m->insns.v[i];
    }
    vec_reach(&m->refs, i);
    return &m->refs.v[i];
}

static __attribute__((noinline)) void miss(const struct cache *c, struct cache_memory *m,
                                           u64 owner, const struct touch *t)
{
    struct cache_misses *x = misses_of(m, t->id);
    x->first++;
    x->last += !use(&c->level[CACHE_LL], owner, t->address, t->size);
}

static void take(struct cache *c, struct cache_memory *m, u64 owner, const struct touch *v, size_t n)
{
    for (const struct touch *t = v; t < v + n; t++) {
        u32 level = t->id & TOUCH_CODE ? CACHE_I1 : CACHE_D1;
        if (!use(&c->level[level], owner, t->address, t->size))
            miss(c, m, owner, t);
    }
}

/* A first level whose sets are vectors, as many as a power of two. */
struct vectors {
    u64 *lines, mask;
    u32 log2;
};

static struct vectors vectors_of(const struct cache_level_state *v)
{
    return (struct vectors){v->lines, v->sets - 1, v->log2};
}

static bool are_vectors(const struct cache_level_state *v)
{
    return v->ways == VECTOR_WAYS && !(v->sets & (v->sets - 1));
}

static inline VECTOR bool use_vectors(const struct vectors *v, u64 owner, u64 address, u32 size)
{
    u64 first = (address >> v->log2) | owner, last = ((address + size - 1) >> v->log2) | owner;
    u64 *set = v->lines + (first & v->mask) * VECTOR_WAYS;
    bool hit = set[0] == first || use_in_vector(set, first);
    while (__builtin_expect(first < last, 0)) {
        first++;
        hit &= use_in_vector(v->lines + (first & v->mask) * VECTOR_WAYS, first);
    }
    return hit;
}

static VECTOR void take_vectors(struct cache *c, struct cache_memory *m, u64 owner,
                                const struct touch *v, size_t n)
{
    const struct vectors first[2] = {vectors_of(&c->level[CACHE_D1]),
                                     vectors_of(&c->level[CACHE_I1])};
    for (const struct touch *t = v; t < v + n; t++)
        if (!use_vectors(&first[t->id / TOUCH_CODE], owner, t->address, t->size))
            miss(c, m, owner, t);
}

void cache_take(struct cache *c, struct cache_memory *m, const struct touch *v, size_t n)
{
    const u64 owner = (m->number + 1) << 44;
    bool vectors = are_vectors(&c->level[CACHE_I1]) && are_vectors(&c->level[CACHE_D1]) &&
                   __builtin_cpu_supports("avx512vl");
    (vectors ? take_vectors : take)(c, m, owner, v, n);
}
