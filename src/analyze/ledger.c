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

u64 *ledger_row(struct ledger *l, u64 a, u64 b)
{
    const u32 row = l->n_slots ? *slot_of(l, a, b) : 0;
    if (row)
        return row_at(l, row - 1) + KEYS;
    return let_there_be(l, a, ledger_rows(l) < l->limit ? b : 0);
}

void ledger_fini(struct ledger *l)
{
    vec_fini(&l->rows);
    free(l->slots);
}
