/* SPDX-License-Identifier: MIT */
/* A number for each line of memory that was ever touched: when that was, or what its user wants to know. 0: never.
 *
 * Lines that are neighbours are looked for together: the stamps of 64 lines are one array, and a hash table has the arrays. So a line costs
 * little more than its stamp, neighbours are in the same places of the processor's caches, and a program that touches one line of each
 * page costs 1/14 of its pages. Where lines are few and far between, as in a sample, arrays would be nearly empty: then the table has the
 * stamps themselves. */
#ifndef STAMPS_H
#define STAMPS_H

#include "base/arena.h"
#include "base/vec.h"

enum { STAMPS_ARRAY = 64 };

struct stamps_slot {
    u64 key; /* + 1; 0: empty */
    union {
        u32 *array;
        u32 stamp;
    };
};

struct stamps {
    bool sparse;
    u32 shift; /* 64 - log2 of the number of slots */
    size_t n, cap;
    struct stamps_slot *slots;
    struct arena arena; /* of arrays */
};

void stamps_init(struct stamps *s, bool sparse);
void stamps_fini(struct stamps *s);
/* Let there be room for n more lines: until then, stamps do not move. */
void stamps_reserve(struct stamps *s, size_t n);
/* A new array, or a new stamp, at an empty slot. */
void stamps_fill(struct stamps *s, struct stamps_slot *slot, u64 key);
/* Bytes that all take. */
size_t stamps_bytes(const struct stamps *s);

static inline u64 stamps_key(const struct stamps *s, u64 line)
{
    return s->sparse ? line : line / STAMPS_ARRAY;
}

/* Where a line is looked for first. */
static inline struct stamps_slot *stamps_home(const struct stamps *s, u64 line)
{
    return &s->slots[stamps_key(s, line) * 0x9e3779b97f4a7c15 >> s->shift];
}

/* The stamp of a line, which is 0 if it is new; room has been reserved. */
static inline u32 *stamps_of(struct stamps *s, u64 line)
{
    struct stamps_slot *slot = stamps_home(s, line), *end = s->slots + s->cap;
    const u64 key = stamps_key(s, line);
    while (slot->key != key + 1) {
        if (!slot->key) {
            stamps_fill(s, slot, key);
            break;
        }
        if (++slot == end)
            slot = s->slots;
    }
    return s->sparse ? &slot->stamp : &slot->array[line % STAMPS_ARRAY];
}

/* Call do_it(context, line, stamp) for each line that has a stamp, in no order. */
void stamps_each(struct stamps *s, void (*do_it)(void *context, u64 line, u32 *stamp), void *context);
/* Forget the lines of a sparse table whose stamp is 0. */
void stamps_tidy(struct stamps *s);

#endif
