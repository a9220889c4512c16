/* SPDX-License-Identifier: MIT */
/* Rows to columns. */
#include "decode/rows.h"
#include "store/many.h"

#include <stdlib.h>

void rows_begin(struct rows_hand *h, struct pack_group *g, u32 room)
{
    size_t n = (size_t)room * g->slots + ROWS_COPIED;
    g->room = room;
    g->rows = arena_alloc(&h->shared.arena, sizeof *g->rows + n * sizeof *g->rows->slots);
    g->next = g->rows->slots;
}

/* The numbers of column k, in their order. */
static u32 numbers_of(const struct pack_group *g, u32 k, const u8 *order, u64 *to)
{
    const u64 *row = g->rows->slots;
    const u8 *lengths = g->rows->lengths;
    u32 n = 0;
    if (order) {
        const u8 *in_row = g->shares.in_row + k * (g->slots + 1);
        for (u32 i = 0; i < g->n_rows; i++, row += g->slots)
            for (u32 j = 0, m = in_row[lengths[i]]; j < m; j++)
                to[n++] = row[order[j]];
    } else {
        for (u32 i = 0; i < g->n_rows; i++, row += g->slots) {
            to[n] = row[k];
            n += k < lengths[i];
        }
    }
    return n;
}

/* First all numbers are brought together: what was stored a moment ago one by one cannot be loaded eight at a time. */
void rows_put(struct rows_hand *h, struct pack_group *g)
{
    enum { AROUND = MANY_BEFORE + MANY_BEHIND };
    const u8 *order = g->shares.order;
    /* MANY_BEHIND more, since there may be no columns at all, and memory is needed all the same. */
    u64 *numbers = vec_grow(&h->numbers, (size_t)g->n * AROUND + (size_t)g->n_rows * g->slots + MANY_BEHIND), *to = numbers;
    u32 n[256];
    h->numbers.n = 0;
    for (u32 k = 0; k < g->n; k++) {
        n[k] = numbers_of(g, k, order, to + MANY_BEFORE);
        to += AROUND + n[k];
        if (order)
            order += g->shares.in_row[k * (g->slots + 1) + g->slots];
    }
    to = numbers;
    for (u32 k = 0; k < g->n; k++) {
        column_put_many(&h->shared, &g->columns[k], to + MANY_BEFORE, n[k], !h->scalar);
        to += AROUND + n[k];
    }
    g->n_rows = 0;
    g->next = g->rows->slots;
}

void rows_hand_fini(struct rows_hand *h)
{
    columns_fini(&h->shared);
    vec_fini(&h->numbers);
}
