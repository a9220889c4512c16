/* SPDX-License-Identifier: MIT */
/* Rows to columns. */
#include "decode/rows.h"
#include "store/many.h"

#include <stdlib.h>

struct pack_rows *rows_new(struct rows_hand *h, const struct pack_group *g, u32 room)
{
    size_t n = (size_t)room * g->slots + ROWS_COPIED;
    struct pack_rows *r = arena_alloc(&h->shared.arena, sizeof *r + n * sizeof *r->slots);
    r->n = 0;
    return r;
}

/* The numbers of column k, in their order. */
static u32 numbers_of(const struct pack_group *g, const struct pack_rows *r, u32 k, const u8 *order, u64 *to)
{
    const u64 *row = r->slots;
    u32 n = 0;
    if (order) {
        const u8 *in_row = g->shares.in_row + k * (g->slots + 1);
        for (u32 i = 0; i < r->n; i++, row += g->slots)
            for (u32 j = 0, m = in_row[r->lengths[i]]; j < m; j++)
                to[n++] = row[order[j]];
    } else {
        for (u32 i = 0; i < r->n; i++, row += g->slots) {
            to[n] = row[k];
            n += k < r->lengths[i];
        }
    }
    return n;
}

/* First all numbers are brought together: what was stored a moment ago one by one cannot be loaded eight at a time. */
void rows_put(struct rows_hand *h, struct pack_group *g, struct pack_rows *r)
{
    enum { AROUND = MANY_BEFORE + MANY_BEHIND };
    const u8 *order = g->shares.order;
    /* MANY_BEHIND more, since there may be no columns at all, and memory is needed all the same. */
    u64 *numbers = vec_grow(&h->numbers, (size_t)g->n * AROUND + (size_t)r->n * g->slots + MANY_BEHIND), *to = numbers;
    u32 n[256];
    h->numbers.n = 0;
    for (u32 k = 0; k < g->n; k++) {
        n[k] = numbers_of(g, r, k, order, to + MANY_BEFORE);
        to += AROUND + n[k];
        if (order)
            order += g->shares.in_row[k * (g->slots + 1) + g->slots];
    }
    to = numbers;
    for (u32 k = 0; k < g->n; k++) {
        column_put_many(&h->shared, &g->columns[k], to + MANY_BEFORE, n[k], !h->scalar);
        to += AROUND + n[k];
    }
    r->n = 0;
}

void rows_hand_fini(struct rows_hand *h)
{
    columns_fini(&h->shared);
    vec_fini(&h->numbers);
}
