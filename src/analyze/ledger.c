/* SPDX-License-Identifier: MIT */
/* Rows in a hash table. */
#include "analyze/ledger.h"
#include "base/err.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 1024, KEYS = 2 };

size_t ledger_rows(const struct ledger *l)
{
    return l->rows.n / (KEYS + l->counts);
}

static u64 *row_at(const struct ledger *l, size_t row)
{
    return l->rows.v + row * (KEYS + l->counts);
}

const u64 *ledger_at(const struct ledger *l, size_t row)
{
    return row_at(l, row);
}

static u64 key_of(const struct ledger *l, u64 place)
{
    return (place & ~PLACE_ADDRESS) | (place & PLACE_ADDRESS) >> l->shift;
}

u64 ledger_place(const struct ledger *l, u64 key)
{
    return (key & ~PLACE_ADDRESS) | (key & PLACE_ADDRESS) << l->shift;
}

/* Where a row's number is, or would be: neighbours lie next to each other, so that walks do not wait for memory. */
static u32 *slot_of(const struct ledger *l, u64 a, u64 b)
{
    u64 i = (((a >> 4) ^ b * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull) >> 32 << 4 | (a & 15);
    for (;; i++) {
        u32 *slot = &l->slots[i & (l->n_slots - 1)];
        if (!*slot)
            return slot;
        const u64 *row = row_at(l, *slot - 1);
        if (row[0] == a && row[1] == b)
            return slot;
    }
}

static void rehash(struct ledger *l, u64 n_slots)
{
    free(l->slots);
    l->n_slots = n_slots;
    l->slots = zeros(n_slots, sizeof *l->slots);
    for (size_t i = 0; i < ledger_rows(l); i++)
        *slot_of(l, row_at(l, i)[0], row_at(l, i)[1]) = (u32)i + 1;
}

/* The counts of the row that has these keys exactly. */
static u64 *let_there_be(struct ledger *l, u64 a, u64 b)
{
    if (2 * ledger_rows(l) >= l->n_slots)
        rehash(l, l->n_slots ? 2 * l->n_slots : FIRST_SLOTS);
    u32 *slot = slot_of(l, a, b);
    if (!*slot) {
        u64 *row = vec_grow(&l->rows, KEYS + l->counts);
        memset(row, 0, (KEYS + l->counts) * sizeof *row);
        row[0] = a;
        row[1] = b;
        *slot = (u32)ledger_rows(l);
    }
    return row_at(l, *slot - 1) + KEYS;
}

/* Make places of twice as many bytes. */
static void coarsen(struct ledger *l)
{
    struct ledger old = *l;
    *l = (struct ledger){
        .counts = old.counts, .is_places = true, .limit = old.limit, .shift = old.shift + 1};
    for (size_t i = 0; i < ledger_rows(&old); i++) {
        const u64 *from = row_at(&old, i);
        u64 *to = let_there_be(l, key_of(l, ledger_place(&old, from[0])),
                               key_of(l, ledger_place(&old, from[1])));
        for (u32 k = 0; k < l->counts; k++)
            to[k] += from[KEYS + k];
    }
    ledger_fini(&old);
}

/* Make a row that there is not, where there is room. */
static u64 *add_row(struct ledger *l, u64 a, u64 b)
{
    if (ledger_rows(l) < l->limit)
        return let_there_be(l, key_of(l, a), key_of(l, b));
    if (!l->is_places)
        return let_there_be(l, a, 0);
    if (l->shift == PLACE_SHIFT)
        return let_there_be(l, key_of(l, a), key_of(l, b));
    coarsen(l);
    return ledger_row(l, a, b);
}

u64 *ledger_row(struct ledger *l, u64 a, u64 b)
{
    const u32 row = l->n_slots ? *slot_of(l, key_of(l, a), key_of(l, b)) : 0;
    return row ? row_at(l, row - 1) + KEYS : add_row(l, a, b);
}

void ledger_fini(struct ledger *l)
{
    vec_fini(&l->rows);
    free(l->slots);
}
