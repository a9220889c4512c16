/* SPDX-License-Identifier: MIT */
/* Write the column of a trace that takes the most bytes once they are compressed, as 64-bit numbers, to standard output; say on standard error which it
 * is. What a general compressor makes of it is the measure for how small a trace with such a column can be.
 *
 *     build/bench/column TRACE | xz -9 | wc -c */
#include "decode/trace.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

/* The columns of one process, by group number and slot. */
struct weight {
    u32 memory, number, slot;
    u64 bytes;
};

static VEC(struct weight) weights;

static u64 *weight_of(u32 memory, u32 number, u32 slot)
{
    static VEC(u32) first; /* by group number, of the process that came last; 0 if not seen */
    static u32 current = UINT32_MAX;
    if (current != memory)
        first.n = 0, current = memory;
    while (first.n <= number)
        vec_push(&first, 0);
    for (u32 i = first.v[number]; i && i <= weights.n; i++) {
        struct weight *w = &weights.v[i - 1];
        if (w->memory == memory && w->number == number && w->slot == slot)
            return &w->bytes;
    }
    vec_push(&weights, ((struct weight){memory, number, slot, 0}));
    if (!first.v[number])
        first.v[number] = (u32)weights.n;
    return &weights.v[weights.n - 1].bytes;
}

static void begin(struct trace *t, size_t i, struct store_bytes *packed, struct unpack *u)
{
    struct err e;
    const char *fault = NULL;
    if (trace_load(t, i, packed, &e) ||
        (fault = unpack_begin(u, trace_table(t, i), t->pieces.v[i].n_exits, packed->v, packed->n))) {
        fprintf(stderr, "column: %s\n", fault ? fault : e.text);
        exit(1);
    }
}

static size_t compressed(const u8 *bytes, size_t n)
{
    size_t room = ZSTD_compressBound(n);
    void *to = malloc(room);
    check(to != NULL);
    size_t size = ZSTD_compress(to, room, bytes, n, 3);
    free(to);
    return size;
}

static void weigh(struct trace *t, size_t i)
{
    struct store_bytes packed = {0};
    struct unpack u;
    begin(t, i, &packed, &u);
    for (size_t g = 0; g < u.groups.n; g++)
        for (u32 k = 0; k < u.groups.v[g].n; k++) {
            const struct column_reader *c = &u.columns.v[u.groups.v[g].column + k];
            *weight_of(t->pieces.v[i].memory, u.groups.v[g].number, k) += compressed(c->at, (size_t)(c->end - c->at));
        }
    unpack_end(&u);
    vec_fini(&packed);
}

static u64 write_column(struct trace *t, size_t i, const struct weight *w)
{
    struct store_bytes packed = {0};
    struct unpack u;
    u64 x, n = 0;
    begin(t, i, &packed, &u);
    u32 g = t->pieces.v[i].memory == w->memory && w->number < FIRST_EXIT_ID + u.table->units.n ? u.group_of[w->number] : 0;
    if (g && w->slot < u.groups.v[g - 1].n)
        for (; column_get(&u.columns.v[u.groups.v[g - 1].column + w->slot], &u.arena, &x); n++)
            fwrite(&x, sizeof x, 1, stdout);
    unpack_end(&u);
    vec_fini(&packed);
    return n;
}

int main(int argc, char **argv)
{
    struct trace t;
    struct err e;
    struct weight most = {0};
    u64 n = 0;
    if (argc != 2 || trace_open(&t, argv[1], &e)) {
        fprintf(stderr, "column: %s\n", argc == 2 ? e.text : "usage: column TRACE");
        return 2;
    }
    for (size_t i = 0; i < t.pieces.n; i++)
        weigh(&t, i);
    for (size_t i = 0; i < weights.n; i++)
        if (weights.v[i].bytes > most.bytes)
            most = weights.v[i];
    for (size_t i = 0; i < t.pieces.n; i++)
        n += write_column(&t, i, &most);
    fprintf(stderr, "unit %u slot %u: %lu numbers, %lu bytes in the trace\n", most.number - FIRST_EXIT_ID, most.slot,
            (unsigned long)n, (unsigned long)most.bytes);
    trace_close(&t);
    return 0;
}
