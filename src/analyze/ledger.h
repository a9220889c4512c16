/* SPDX-License-Identifier: MIT */
/* Counts by two keys, in bounded memory.
 *
 * Keys may be places: then, when there are too many rows, neighbours become one place, of twice as many bytes. So the sums of all rows
 * stay what they are, and only where is known less finely. With keys that are not places, rows that do not fit are counted with 0 as
 * their second key. */
#ifndef LEDGER_H
#define LEDGER_H

#include "base/vec.h"

/* A place: a line's owner, as cache.h has it, above an address. */
enum { PLACE_SHIFT = 48 };
#define PLACE_ADDRESS ((1ull << PLACE_SHIFT) - 1)

struct ledger {
    u32 counts;     /* of each row */
    bool is_places; /* the keys are; 0 is none */
    size_t limit;   /* of rows */
    u32 shift;      /* a place has 2^shift bytes */
    VEC(u64) rows;  /* of each its keys, then its counts */
    u32 *slots;     /* a hash table: number of a row + 1; 0: free */
    u64 n_slots;    /* a power of two, or 0 */
};

/* The counts of a row, which is made if there is none; valid until the next one is. */
u64 *ledger_row(struct ledger *l, u64 a, u64 b);
size_t ledger_rows(const struct ledger *l);
/* Its keys, and behind them its counts. Places are those of their first bytes. */
const u64 *ledger_at(const struct ledger *l, size_t row);
u64 ledger_place(const struct ledger *l, u64 key);
void ledger_fini(struct ledger *l);

#endif
