/* SPDX-License-Identifier: MIT */
/* Memory that is given back all at once, of which pieces may be made use of again before that. */
#ifndef POOL_H
#define POOL_H

#include "base/arena.h"

enum {
    POOL_STEP = 16,    /* bytes; small pieces have sizes in these steps, */
    POOL_SMALL = 1024, /* ... up to here; others are powers of two */
    POOL_SIZES = POOL_SMALL / POOL_STEP + 64
};

struct pool {
    struct arena arena;
    void *free[POOL_SIZES]; /* pieces by size, each with the address of the next in it */
};

/* A piece of n bytes, aligned as an arena's and not cleared. */
void *pool_alloc(struct pool *p, size_t n);
/* Give a piece back, whose size is told again. */
void pool_free(struct pool *p, void *piece, size_t n);
/* A piece of m bytes with what is in one of n, which is given back; NULL: there is none. */
void *pool_realloc(struct pool *p, void *piece, size_t n, size_t m);
void pool_fini(struct pool *p);

#endif
