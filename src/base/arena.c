/* SPDX-License-Identifier: MIT */
/* Memory that is given back all at once, in blocks that double. */
#include "base/arena.h"
#include "base/err.h"

#include <stdlib.h>

enum { FIRST_BLOCK = 16 << 10, LARGEST_BLOCK = 4 << 20 };

struct arena_block {
    struct arena_block *before;
    u64 pad; /* what follows is aligned */
};

static void new_block(struct arena *a, size_t n)
{
    size_t size = a->block ? MIN(2 * a->size, (size_t)LARGEST_BLOCK) : FIRST_BLOCK;
    size = MAX(size, n);
    struct arena_block *b = malloc(sizeof *b + size);
    check(b != NULL);
    b->before = a->block;
    *a = (struct arena){.block = b, .size = size};
}

void *arena_alloc(struct arena *a, size_t n)
{
    n = ALIGN_UP(n, 16);
    if (n > a->size - a->at)
        new_block(a, n);
    a->at += n;
    return (u8 *)(a->block + 1) + a->at - n;
}

void arena_fini(struct arena *a)
{
    for (struct arena_block *b = a->block, *before; b; b = before) {
        before = b->before;
        free(b);
    }
    *a = (struct arena){0};
}
