/* SPDX-License-Identifier: MIT */
/* The hash table of stamps: slots behind each other, at most half of them full. */
#include "analyze/stamps.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

static void new_slots(struct stamps *s, size_t cap)
{
    s->cap = cap;
    s->shift = 64 - (u32)__builtin_ctzll(cap);
    s->slots = calloc(cap, sizeof *s->slots);
    check(s->slots != NULL);
}

void stamps_init(struct stamps *s, bool sparse)
{
    *s = (struct stamps){.sparse = sparse};
    new_slots(s, FIRST_SLOTS);
}

void stamps_fini(struct stamps *s)
{
    free(s->slots);
    arena_fini(&s->arena);
    *s = (struct stamps){0};
}

size_t stamps_bytes(const struct stamps *s)
{
    size_t arrays = s->sparse ? 0 : s->n * STAMPS_ARRAY * sizeof(u32);
    return s->cap * sizeof *s->slots + arrays;
}

/* Slots of a key are searched from its home on. */
static void put(struct stamps *s, struct stamps_slot x)
{
    size_t i = (x.key - 1) * 0x9e3779b97f4a7c15 >> s->shift;
    while (s->slots[i].key)
        i = (i + 1) % s->cap;
    s->slots[i] = x;
}

static void rehash(struct stamps *s, size_t cap)
{
    struct stamps_slot *old = s->slots;
    size_t n = s->cap;
    new_slots(s, cap);
    for (size_t i = 0; i < n; i++)
        if (old[i].key)
            put(s, old[i]);
    free(old);
}

void stamps_reserve(struct stamps *s, size_t n)
{
    size_t cap = s->cap;
    while (2 * (s->n + n) > cap)
        cap *= 2;
    if (cap != s->cap)
        rehash(s, cap);
}

void stamps_fill(struct stamps *s, struct stamps_slot *slot, u64 key)
{
    slot->key = key + 1;
    s->n++;
    if (s->sparse)
        return;
    slot->array = arena_alloc(&s->arena, STAMPS_ARRAY * sizeof *slot->array);
    memset(slot->array, 0, STAMPS_ARRAY * sizeof *slot->array);
}

void stamps_each(struct stamps *s, void (*do_it)(void *context, u64 line, u32 *stamp), void *context)
{
    const u32 stamps = s->sparse ? 1 : STAMPS_ARRAY;
    for (size_t i = 0; i < s->cap; i++) {
        struct stamps_slot *slot = &s->slots[i];
        u32 *stamp = s->sparse ? &slot->stamp : slot->array;
        for (u32 k = 0; slot->key && k < stamps; k++)
            if (stamp[k])
                do_it(context, (slot->key - 1) * stamps + k, &stamp[k]);
    }
}

void stamps_tidy(struct stamps *s)
{
    check(s->sparse);
    s->n = 0;
    for (size_t i = 0; i < s->cap; i++) {
        if (s->slots[i].key && !s->slots[i].stamp)
            s->slots[i].key = 0;
        s->n += s->slots[i].key != 0;
    }
    rehash(s, s->cap);
}
