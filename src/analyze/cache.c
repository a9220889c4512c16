/* SPDX-License-Identifier: MIT */
/* Sets and policies. */
#include "analyze/cache.h"
#include "analyze/cache_vector.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum { AGE_SHIFT = 59, AGE_NEW = 2, AGE_LIMIT = 3 };

static void *aligned_zeros(size_t n, size_t size)
{
    size_t bytes = ALIGN_UP(MAX(n, 1ul) * size, 64);
    void *p = aligned_alloc(64, bytes);
    check(p != NULL);
    memset(p, 0, bytes);
    return p;
}

/* Each set draws from numbers of its own: what it does depends on no other, and is the same in every run. */
static void seed(struct cache *c)
{
    c->seeds = aligned_zeros(c->sets, sizeof *c->seeds);
    for (u64 i = 0; i < c->sets; i++)
        c->seeds[i] = (u32)(i + 1) * 0x9e3779b1u | 1;
}

void cache_init(struct cache *c, u64 sets, u32 ways, enum policy policy)
{
    *c = (struct cache){.sets = sets, .ways = ways, .stride = ways, .policy = policy};
    c->has_vectors = cache_has_vectors();
    if (policy == POLICY_lru && ways > CACHE_VECTOR_WAYS / 2 && ways <= 2 * CACHE_VECTOR_WAYS && c->has_vectors) {
        c->vectors = ways > CACHE_VECTOR_WAYS ? 2 : 1;
        c->stride = c->vectors * CACHE_VECTOR_WAYS;
    }
    c->lines = aligned_zeros(sets * c->stride, sizeof *c->lines);
    if (policy == POLICY_plru)
        c->trees = aligned_zeros(sets, sizeof *c->trees);
    if (policy == POLICY_random)
        seed(c);
}

void cache_fini(struct cache *c)
{
    free(c->lines);
    free(c->trees);
    free(c->seeds);
}

/* -- One set ------------------------------------------------------------------------------------ */

/* The way a line is in; `ways` if it is in none. */
static u32 way_of(const struct cache *c, const u64 *set, u64 line)
{
    u32 k = 0;
    if (c->has_vectors)
        return cache_vector_way(set, c->ways, line);
    while (k < c->ways && (set[k] & ~LINE_STATE) != line)
        k++;
    return k;
}

static void to_front(u64 *set, u32 k)
{
    u64 line = set[k];
    memmove(set + 1, set, k * sizeof *set);
    set[0] = line;
}

/* plru: node 1 is the root, 2n and 2n + 1 are below n; a bit says which half is to be given up next. All on the way to the line's
 * place shall say the other. */
static void point_away(u64 *tree, u32 ways, u32 way)
{
    for (u32 node = ways + way; node > 1; node /= 2)
        if (node & 1)
            *tree &= ~(1ull << node / 2);
        else
            *tree |= 1ull << node / 2;
}

static u32 follow(u64 tree, u32 ways)
{
    u32 node = 1;
    while (node < ways)
        node = 2 * node + (tree >> node & 1);
    return node - ways;
}

static u32 draw(u32 *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return *x;
}

/* The first of the oldest lines; all grow older until there is one as old as can be. */
static u32 oldest(u64 *set, u32 ways)
{
    u64 most = 0;
    u32 found = 0;
    for (u32 k = 0; k < ways; k++)
        if ((set[k] & LINE_AGE) > most) {
            most = set[k] & LINE_AGE;
            found = k;
        }
    u64 older = ((u64)AGE_LIMIT << AGE_SHIFT) - most;
    for (u32 k = 0; k < ways; k++)
        set[k] += older;
    return found;
}

/* Which way is given up, where lines have no order: an empty one if there is one. */
static u32 victim(struct cache *c, u64 *set, u64 index)
{
    u32 k = 0;
    while (k < c->ways && set[k])
        k++;
    if (k < c->ways)
        return k;
    if (c->policy == POLICY_plru)
        return follow(c->trees[index], c->ways);
    return c->policy == POLICY_rrip ? oldest(set, c->ways) : draw(&c->seeds[index]) % c->ways;
}

/* -- The cache ---------------------------------------------------------------------------------- */

static u64 *set_at(const struct cache *c, u64 index)
{
    return c->lines + index * c->stride;
}

u64 *cache_find(struct cache *c, u64 line)
{
    u64 index = cache_set_of(c, line), *set = set_at(c, index);
    if (c->vectors == 1)
        return cache_vector_find(set, line) ? set : NULL;
    if (c->vectors == 2)
        return cache_two_find(set, line) ? set : NULL;
    u32 k = way_of(c, set, line);
    if (k == c->ways)
        return NULL;
    switch (c->policy) {
    case POLICY_lru:
        to_front(set, k);
        return set;
    case POLICY_plru:
        point_away(&c->trees[index], c->ways, k);
        break;
    case POLICY_rrip:
        set[k] &= ~LINE_AGE;
        break;
    case POLICY_fifo:
    case POLICY_random:
        break;
    }
    return &set[k];
}

u64 *cache_peek(struct cache *c, u64 line)
{
    u64 *set = set_at(c, cache_set_of(c, line));
    u32 k = way_of(c, set, line);
    return k < c->ways ? &set[k] : NULL;
}

u64 cache_put(struct cache *c, u64 line)
{
    u64 index = cache_set_of(c, line), *set = set_at(c, index);
    if (c->vectors == 1)
        return cache_vector_put(set, c->ways, line);
    if (c->vectors == 2)
        return cache_two_put(set, c->ways, line);
    bool ordered = c->policy == POLICY_lru || c->policy == POLICY_fifo;
    u32 k = ordered ? c->ways - 1 : victim(c, set, index);
    u64 old = set[k];
    set[k] = c->policy == POLICY_rrip ? line | (u64)AGE_NEW << AGE_SHIFT : line;
    if (ordered)
        to_front(set, k);
    if (c->policy == POLICY_plru)
        point_away(&c->trees[index], c->ways, k);
    return old;
}

u64 cache_remove(struct cache *c, u64 line)
{
    u64 *set = set_at(c, cache_set_of(c, line));
    u32 k = way_of(c, set, line);
    if (k == c->ways)
        return 0;
    u64 old = set[k];
    set[k] = 0;
    if (c->policy == POLICY_lru || c->policy == POLICY_fifo)
        for (; k + 1 < c->ways; k++) {
            set[k] = set[k + 1];
            set[k + 1] = 0;
        }
    return old;
}
