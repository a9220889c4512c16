/* SPDX-License-Identifier: MIT */
/* Memory that is given back all at once. */
#ifndef ARENA_H
#define ARENA_H

#include "base/base.h"

struct arena {
    struct arena_block *first;
    struct arena_block *block; /* the current one; those behind it are of earlier use. NULL: none yet */
    size_t at;                 /* within the current one */
};

/* n bytes, aligned to 16, or to a line of the cache if n is a multiple of that; not cleared. */
void *arena_alloc(struct arena *a, size_t n);
/* Begin again: all that was taken is free, and the memory stays for what comes. */
void arena_clear(struct arena *a);
/* Give everything back. */
void arena_fini(struct arena *a);

#endif
