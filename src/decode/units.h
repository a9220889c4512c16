/* SPDX-License-Identifier: MIT */
/* The contents of a units chunk: a part of the unit table as columns. Private to this room. */
#ifndef UNITS_H
#define UNITS_H

#include "store/store.h"
#include "translate/unit.h"

/* How long the five arrays of a unit table are. */
struct units_lengths {
    u32 units, insns, refs, exits, code;
};

struct units_lengths units_lengths(const struct unit_table *t);
bool units_equal(struct units_lengths a, struct units_lengths b);
/* Bytes that so many elements take in memory. */
u64 units_size(struct units_lengths n);

/* Append the elements from `from` on, n of each array, as they stand in a file. */
void units_store(const struct unit_table *t, struct units_lengths from, struct units_lengths n,
                 struct store_bytes *to);
/* Append what units_store wrote to the table, or one of version 4, that had no values. NULL, or what is wrong; the table may then have elements
 * that make no sense. */
const char *units_read(struct unit_table *t, struct units_lengths n, bool values, const u8 *bytes, size_t size);

#endif
