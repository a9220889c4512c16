/* SPDX-License-Identifier: MIT */
/* Any bytes as the contents of a records chunk, and any bytes as a buffer of records.
 *
 * The first byte chooses. Even: the rest is unpacked. Odd: the rest is packed as far as it is records, and must unpack to the same. */
#include "decode/pack.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

enum { UNITS = 40, ROOM = 64 << 10, ROUNDS = 16 /* a small chunk may claim ages of records */ };

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static const struct unit_table *table(void)
{
    static struct unit_table t;
    for (u32 i = (u32)t.units.n; i < UNITS; i++) {
        struct unit u = {.pc = 4096 * i,
                         .n_insns = 2,
                         .exit0 = 2 * i,
                         .n_exits = 2,
                         .insn0 = 2 * i,
                         .ref0 = (u32)t.refs.n};
        struct unit_exit x = {.unit = i, .insns = 1, .slots = (u8)(i % 7), .rsp_term = TERM_RSP};
        vec_push(&t.exits, x);
        x.slots = (u8)(x.slots + i % 3);
        vec_push(&t.exits, x);
        for (u32 k = 0; k < 2; k++)
            vec_push(&t.insns, ((struct unit_insn){.pc = u.pc}));
        for (; u.n_refs < x.slots && i % 2; u.n_refs++) /* rounds of a loop of one instruction */
            vec_push(&t.refs,
                     ((struct ref){.a = (u8)u.n_refs, .b = TERM_NONE, .insn = u.n_refs % 2}));
        vec_push(&t.units, u);
    }
    return &t;
}

/* Unpack, and compare with `was` as far as that goes; NULL to compare with nothing. */
static void unpack(const u8 *packed, size_t size, const u8 *was, size_t n_was)
{
    static u8 out[ROOM];
    struct unpack u;
    size_t at = 0;
    const char *fault = unpack_begin(&u, table(), (u32)table()->exits.n, packed, size);
    s64 n = 0;
    for (u32 i = 0; !fault && (was || i < ROUNDS) && (n = unpack_some(&u, out, ROOM, &fault)) > 0;
         i++) {
        if (was && (at + (size_t)n > n_was || memcmp(was + at, out, (size_t)n)))
            abort();
        at += (size_t)n;
    }
    if (was && (fault || at != n_was))
        abort();
    unpack_end(&u);
}

static void pack_and_unpack(const u8 *data, size_t size)
{
    static const u64 state[RECORD_state_slots];
    const u32 header = RECORD_state << RECORD_ID_SHIFT | RECORD_state_slots;
    struct store_bytes raw = {0}, packed = {0};
    struct pack *p = pack_new(table());
    struct err e;
    memcpy(vec_grow(&raw, 4), &header, 4);
    memcpy(vec_grow(&raw, sizeof state), state, sizeof state);
    if (size)
        memcpy(vec_grow(&raw, size), data, size);
    pack_records(p, raw.v, MIN(raw.n, (size_t)ROOM), &e);
    u64 taken = p->head.bytes;
    pack_store(p, &packed);
    pack_free(p);
    unpack(packed.v, packed.n, raw.v, taken);
    vec_fini(&raw);
    vec_fini(&packed);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
    if (size < 1)
        return 0;
    if (data[0] & 1)
        pack_and_unpack(data + 1, size - 1);
    else
        unpack(data + 1, size - 1, NULL, 0);
    return 0;
}
