/* SPDX-License-Identifier: MIT */
/* An arena with lists of free pieces. */
#include "base/pool.h"

#include <string.h>

/* Which list a size belongs to; *n becomes the size of its pieces. */
static u32 list_of(size_t *n)
{
    *n = ALIGN_UP(MAX(*n, 1ul), POOL_STEP);
    if (*n <= POOL_SMALL)
        return (u32)(*n / POOL_STEP) - 1;
    const u32 bits = 64 - (u32)__builtin_clzl(*n - 1);
    *n = 1ul << bits;
    return POOL_SMALL / POOL_STEP + bits;
}

void *pool_alloc(struct pool *p, size_t n)
{
    void **list = &p->free[list_of(&n)], *piece = *list;
    if (!piece)
        return arena_alloc(&p->arena, n);
    memcpy(list, piece, sizeof *list);
    return piece;
}

void pool_free(struct pool *p, void *piece, size_t n)
{
    void **list = &p->free[list_of(&n)];
    memcpy(piece, list, sizeof *list);
    *list = piece;
}

void *pool_realloc(struct pool *p, void *piece, size_t n, size_t m)
{
    void *larger = pool_alloc(p, m);
    if (piece) {
        memcpy(larger, piece, MIN(n, m));
        pool_free(p, piece, n);
    }
    return larger;
}

void pool_fini(struct pool *p)
{
    arena_fini(&p->arena);
    *p = (struct pool){0};
}
