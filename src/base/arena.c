/* SPDX-License-Identifier: MIT */
/* Memory that is given back all at once, in blocks that double. */
#include "base/arena.h"
#include "base/err.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    LINE = 64,
    FIRST_BLOCK = 16 << 10,
    LARGEST_BLOCK = 32 << 20,
    HUGE_BLOCK = 4 << 20, /* those at least this large are in huge pages, if there are any */
    HUGE_PAGE = 2 << 20,
};

struct arena_block {
    struct arena_block *next;
    size_t size;
} __attribute__((aligned(LINE)));

/* Who fills megabytes goes to and fro in them: with small pages, many an access would begin with a walk of the page tables. */
static struct arena_block *block_of(size_t size)
{
    struct arena_block *b = aligned_alloc(size < HUGE_BLOCK ? LINE : HUGE_PAGE, size);
    check(b != NULL);
    if (size >= HUGE_BLOCK)
        madvise(b, size, MADV_HUGEPAGE);
    *b = (struct arena_block){.size = size};
    return b;
}

/* Go on in the next block; one of earlier use, if it is large enough. */
static void next_block(struct arena *a, size_t n)
{
    struct arena_block **link = a->block ? &a->block->next : &a->first;
    if (!*link || (*link)->size < n + sizeof **link) {
        size_t size = a->block ? MIN(2 * a->block->size, (size_t)LARGEST_BLOCK) : FIRST_BLOCK;
        while (size < n + sizeof **link)
            size *= 2;
        struct arena_block *b = block_of(size);
        b->next = *link;
        *link = b;
    }
    a->block = *link;
    a->at = sizeof *a->block;
}

void *arena_alloc(struct arena *a, size_t n)
{
    n = ALIGN_UP(n, 16);
    size_t at = n % LINE ? a->at : ALIGN_UP(a->at, LINE);
    if (!a->block || at + n > a->block->size) {
        next_block(a, n);
        at = a->at;
    }
    a->at = at + n;
    return (u8 *)a->block + at;
}

void arena_clear(struct arena *a)
{
    a->block = NULL;
    a->at = 0;
}

void arena_fini(struct arena *a)
{
    for (struct arena_block *b = a->first, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *a = (struct arena){0};
}
