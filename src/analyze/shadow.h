/* SPDX-License-Identifier: MIT */
/* Who wrote each byte of a memory last.
 *
 * Only pages that were written to take room. Bytes are kept by fours, which most stores write as a whole; where the four have
 * different writers, each has its own. */
#ifndef SHADOW_H
#define SHADOW_H

#include "base/vec.h"

enum {
    SHADOW_LOG2 = 10,
    SHADOW_PAGE = 1 << SHADOW_LOG2,
    SHADOW_GRAIN = 4,
    SHADOW_NEAR = 256, /* pages that are found at once */
};

/* An instruction that stored, and when. Writers of the same time are the same. */
struct writer {
    u64 time; /* 0: nobody */
    u32 ref, thread;
};

struct shadow_page {
    struct writer grain[SHADOW_PAGE / SHADOW_GRAIN];
};

/* The writers of four bytes that differ. */
struct shadow_bytes {
    struct writer byte[SHADOW_GRAIN];
};

struct shadow_slot {
    u64 number; /* address >> SHADOW_LOG2 */
    struct shadow_page *page;
};

struct shadow {
    struct shadow_slot
        near[SHADOW_NEAR];     /* looked for lately, by number; pages that are not there too */
    struct shadow_slot *slots; /* all: a hash table; without a page: free */
    u64 n_slots, n_pages;      /* a power of two, or 0 */
    VEC(struct shadow_bytes) bytes;
    VEC(u32) unused; /* of these */
};

void shadow_init(struct shadow *s);
void shadow_fini(struct shadow *s);
/* All bytes are in one page, here and below. */
void shadow_write(struct shadow *s, u64 address, u32 size, struct writer by);
/* The different writers of these bytes: how many there are. There may be as many as bytes. */
u32 shadow_read(struct shadow *s, u64 address, u32 size, struct writer *found);

#endif
