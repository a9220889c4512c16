/* SPDX-License-Identifier: MIT */
/* Many numbers of a column at a time (store/column.h), by vectors where the processor has them. */
#ifndef MANY_H
#define MANY_H

#include "store/column.h"

/* Before the numbers that are put, there must be room for two; behind them, for seven. */
enum { MANY_BEFORE = 2, MANY_BEHIND = 7 };

/* Does the processor have what `vectors` asks for? */
bool many_has_vectors(void);
/* What column_put, or column_put_plain, does with each of these. */
void column_put_many(struct columns *s, struct column *c, u64 *numbers, u32 n, bool vectors);
void column_put_many_plain(struct columns *s, struct column *c, u64 *numbers, u32 n, bool vectors);

#endif
