/* SPDX-License-Identifier: MIT */
/* Counts by two keys, in bounded memory: rows that do not fit are counted with 0 as their second key. */
#ifndef LEDGER_H
#define LEDGER_H

#include "base/vec.h"

struct ledger {
    u32 counts;    /* of each row */
    size_t limit;  /* of rows */
    VEC(u64) rows; /* of each its keys, then its counts */
    u32 *slots;    /* a hash table: number of a row + 1; 0: free */
    u64 n_slots;   /* a power of two, or 0 */
};

/* The counts of a row, which is made if there is none; valid until the next one is. */
u64 *ledger_row(struct ledger *l, u64 a, u64 b);
size_t ledger_rows(const struct ledger *l);
/* Its keys, and behind them its counts. */
const u64 *ledger_at(const struct ledger *l, size_t row);
void ledger_fini(struct ledger *l);

#endif
