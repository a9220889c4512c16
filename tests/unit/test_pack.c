/* SPDX-License-Identifier: MIT */
/* Packed records unpack to themselves, whatever they are; what is not packed records is refused. */
#include "decode/pack.h"
#include "wire/wire.h"
#include "test.h"

#include <string.h>

static u64 seed;
static u64 rnd(u64 below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 24) % below;
}

/* -- A table and records ----------------------------------------------------------------------- */

enum { UNITS = 300 };
static struct unit_table table;

/* Addresses that begin with the slots of a unit: every third unit is a loop of two instructions, laid out several times; another third has
 * none that is known. */
static void put_refs(struct unit *u, u32 slots)
{
    u->insn0 = (u32)table.insns.n;
    u->ref0 = (u32)table.refs.n;
    u->n_insns = slots + 1;
    for (u32 k = 0; k < u->n_insns; k++)
        vec_push(&table.insns,
                 ((struct unit_insn){.pc = u->pc + 4 * (u->pc / 64 % 3 ? k : k % 2)}));
    for (u32 k = 0; k < slots && u->pc / 64 % 3 < 2; k++) {
        vec_push(&table.refs, ((struct ref){.insn = (u16)k,
                                            .a = (u8)(k % 5 ? k : TERM_NONE),
                                            .b = (u8)(k % 5 ? TERM_RSP : k)}));
        u->n_refs++;
    }
}

/* Units with one to four exits and zero to twelve slots; a few have very many. */
static void make_table(void)
{
    seed = 1;
    for (u32 i = 0; i < UNITS; i++) {
        struct unit u = {
            .pc = 0x400000 + 64ul * i, .exit0 = (u32)table.exits.n, .n_exits = 1 + (u32)rnd(4)};
        u32 slots = i % 50 == 7 ? 120 + (u32)rnd(80) : (u32)rnd(4);
        for (u32 k = 0; k < u.n_exits; k++) {
            u8 terms[] = {TERM_RSP, TERM_RSP, TERM_RSP, TERM_NONE, 0};
            vec_push(&table.exits, ((struct unit_exit){.unit = i,
                                                       .insns = (u16)(k + 1),
                                                       .slots = (u8)slots,
                                                       .kind = rnd(9) ? EXIT_DIRECT : EXIT_SYSCALL,
                                                       .rsp_term = terms[rnd(slots ? 5 : 4)],
                                                       .rsp_disp = (s64)rnd(3) * 8 - 8}));
            slots = MIN(slots + (u32)rnd(4), 239u);
        }
        put_refs(&u, table.exits.v[table.exits.n - 1].slots);
        vec_push(&table.units, u);
    }
}

static struct store_bytes raw;

static void put_record(u32 id, u32 n, const u64 *slots)
{
    u32 header = id << RECORD_ID_SHIFT | n;
    memcpy(vec_grow(&raw, 4), &header, 4);
    if (n)
        memcpy(vec_grow(&raw, 8ul * n), slots, 8ul * n);
}

static void put_state(u64 rsp)
{
    put_record(RECORD_state, 4, (const u64[]){rsp, 0x7f00, 0, rnd(1 << 30)});
}

/* What a slot does from record to record. */
static u64 value(u32 exit, u32 slot, u64 turn)
{
    u64 start = 0x7f0000000000 + 4096ul * exit + 8 * slot;
    switch ((exit * 7 + slot) % 8) {
    case 0:
        return start;
    case 1:
        return start + 8 * turn;
    case 2:
        return start + 8 * (turn % 25) + 800 * (turn / 25 % 10);
    case 3:
        return start + 64 * rnd(1000);
    case 4:
        return rnd(2) ? rnd(UINT64_MAX) << 24 | rnd(UINT64_MAX) : UINT64_MAX;
    case 5:
        return start - 16 * turn;
    case 6:
        return rnd(30) ? start : rnd(100);
    default:
        return turn * turn;
    }
}

static void put_exit(u32 exit, u64 turn)
{
    u64 slots[256];
    u32 n = table.exits.v[exit].slots;
    for (u32 i = 0; i < n; i++)
        slots[i] = value(exit, i, turn);
    put_record(FIRST_EXIT_ID + exit, n, slots);
}

/* Any record that the guest makes itself. */
static void put_guest_record(void)
{
    u64 slots[256];
    static const u8 lengths[] = {
        [RECORD_state] = 4,     [RECORD_syscall] = 3, [RECORD_native] = 2, [RECORD_signal] = 4,
        [RECORD_sigreturn] = 2, [RECORD_stepped] = 3, [RECORD_lost] = 2};
    u32 id = 1 + (u32)rnd(8), n = id == RECORD_partial ? 2 + (u32)rnd(100) : lengths[id];
    for (u32 i = 0; i < n; i++)
        slots[i] = rnd(4) ? rnd(1000) : rnd(UINT64_MAX);
    put_record(id, n, slots);
}

/* A buffer: loops over a few exits, jumps anywhere, guest records now and then. */
static void put_buffer(u32 records)
{
    u32 at = (u32)rnd(table.exits.n), length = 1 + (u32)rnd(6);
    put_state(0x7ffffff0000 + 16 * rnd(3));
    for (u32 i = 0; i < records; i++) {
        if (!rnd(40)) {
            at = (u32)rnd(table.exits.n);
            length = 1 + (u32)rnd(6);
        }
        if (!rnd(100))
            put_guest_record();
        put_exit((at + i % length) % (u32)table.exits.n, i);
    }
}

/* -- There and back ---------------------------------------------------------------------------- */

static struct store_bytes packed;

/* The raw records as a scalar loop packs them: are these the packed bytes? */
static bool are_as_scalar(const size_t *ends, u32 n)
{
    struct pack *p = pack_new(&table);
    struct store_bytes again = {0};
    struct err e;
    bool good = true;
    pack_scalar(p);
    for (u32 i = 0; i < n; i++)
        good &= pack_records(p, raw.v + (i ? ends[i - 1] : 0), ends[i] - (i ? ends[i - 1] : 0),
                             &e) == 0;
    pack_store(p, &again);
    good &= again.n == packed.n && !memcmp(again.v, packed.v, packed.n);
    pack_free(p);
    vec_fini(&again);
    return good;
}

/* Are the unpacked records those in raw, state records at the heads of buffers left aside? */
static bool same_records(const u8 *was, const u8 *end, const u8 *is, size_t n, const u8 **left)
{
    for (size_t at = 0; at < n;) {
        u32 header;
        memcpy(&header, is + at, 4);
        size_t length = 4 + 8ul * (header & 255);
        while (was < end && memcmp(was, is + at, length)) {
            memcpy(&header, was, 4);
            if (header >> RECORD_ID_SHIFT != RECORD_state)
                return false;
            was += 4 + 8ul * (header & 255);
        }
        if (was >= end)
            return false;
        was += length;
        at += length;
    }
    *left = was;
    return true;
}

static bool unpacks_to_raw(size_t room, struct pack_head *head)
{
    struct unpack u;
    const char *fault = unpack_begin(&u, &table, (u32)table.exits.n, packed.v, packed.n);
    const u8 *was = raw.v, *end = raw.v + raw.n;
    u8 *out = malloc(room);
    s64 n = 0;
    u64 bytes = 0;
    bool same = !fault;
    for (; same && (n = unpack_some(&u, out, room, &fault)) > 0; bytes += (u64)n)
        same = same_records(was, end, out, (size_t)n, &was);
    if (fault)
        printf("unpacking: %s\n", fault);
    *head = u.head;
    free(out);
    unpack_end(&u);
    return same && n == 0 && was == end && bytes == head->bytes;
}

static bool survives(u32 buffers, u32 records, size_t room)
{
    struct pack *p = pack_new(&table);
    struct err e;
    struct pack_head head;
    size_t ends[5];
    raw.n = packed.n = 0;
    for (u32 i = 0; i < buffers; i++) {
        size_t at = raw.n;
        put_buffer(records);
        ends[i] = raw.n;
        CHECK_CASE(pack_records(p, raw.v + at, raw.n - at, &e) == 0, "%s", e.text);
    }
    pack_store(p, &packed);
    struct pack_head was = p->head;
    pack_free(p);
    return unpacks_to_raw(room, &head) && !memcmp(&head, &was, sizeof was) &&
           are_as_scalar(ends, buffers);
}

static void random_records_survive(void)
{
    for (u32 i = 0; i < 60; i++) {
        seed = 100 + i;
        CHECK_CASE(survives(1 + i % 5, 1000 + 400 * (i % 7), i % 2 ? RECORD_LIMIT : 70000),
                   "seed %u", 100 + i);
    }
    seed = 7;
    CHECK(survives(5, 40000, 1 << 20));
}

/* A loop nest of records takes as many bytes for a million as for ten thousand. */
static void a_regular_program_is_small(void)
{
    size_t size[2];
    u32 exit = 0;
    while (table.exits.v[exit].slots != 2 || table.exits.v[exit].rsp_term != TERM_RSP)
        exit++;
    for (u32 k = 0; k < 2; k++) {
        struct pack *p = pack_new(&table);
        struct err e;
        u64 n = k ? 1000 : 100;
        packed.n = 0;
        for (u64 i = 0; i < n; i++) {
            raw.n = 0;
            put_state(0);
            for (u64 j = 0; j < n; j++)
                put_record(FIRST_EXIT_ID + exit, 2,
                           (const u64[]){0x1000 + 8 * n * i + 8 * j, 0x900000 + 8 * j});
            put_record(FIRST_EXIT_ID, table.exits.v[0].slots, (const u64[256]){0});
            CHECK(pack_records(p, raw.v, raw.n, &e) == 0);
        }
        pack_store(p, &packed);
        pack_free(p);
        size[k] = packed.n;
    }
    CHECK_CASE(size[0] < 4000 && size[1] < size[0] + 100, "%zu and %zu bytes", size[0], size[1]);
}

/* A loop of records that tell of eight rounds each is as small as one of single rounds, and its irregular numbers are one sequence: the differences
 * from round to round are small, those from record to record are not. */
static void rounds_of_a_loop_share_a_column(void)
{
    u32 exit = 0;
    struct err e;
    u64 slots[256], x = 0;
    while (table.units.v[table.exits.v[exit].unit].pc / 64 % 3 || table.exits.v[exit].slots < 100)
        exit++;
    struct pack *p = pack_new(&table);
    packed.n = raw.n = 0;
    put_state(0);
    u32 n = table.exits.v[exit].slots, records = 100;
    for (u32 i = 0; i < records; i++) {
        for (u32 k = 0; k < n; k++)
            slots[k] = x += k % 2 ? 1 : rnd(8);
        put_record(FIRST_EXIT_ID + exit, n, slots);
    }
    CHECK(pack_records(p, raw.v, raw.n, &e) == 0);
    pack_store(p, &packed);
    pack_free(p);
    struct pack_head head;
    CHECK(unpacks_to_raw(RECORD_LIMIT, &head));
    CHECK_CASE(2 * packed.n < 3 * records * n, "%zu bytes for %u numbers", packed.n, records * n);
}

/* A column for each slot, as all files had it before version 6: whoever packs does not know of the references. */
static void columns_need_not_be_shared(void)
{
    struct unit_table bare = table;
    struct err e;
    struct pack_head head;
    bare.units.v = NULL;
    bare.units.n = bare.units.cap = 0;
    for (u32 i = 0; i < UNITS; i++) {
        vec_push(&bare.units, table.units.v[i]);
        bare.units.v[i].n_refs = 0;
    }
    struct pack *p = pack_new(&bare);
    seed = 5;
    packed.n = raw.n = 0;
    put_buffer(3000);
    CHECK(pack_records(p, raw.v, raw.n, &e) == 0);
    pack_store(p, &packed);
    pack_free(p);
    vec_fini(&bare.units);
    CHECK(unpacks_to_raw(70000, &head));
}

static void redundant_states_are_dropped(void)
{
    struct pack *p = pack_new(&table);
    struct err e;
    u32 exit = 0;
    while (table.exits.v[exit].kind != EXIT_DIRECT || table.exits.v[exit].rsp_term != TERM_RSP)
        exit++;
    u64 rsp = 0x7fff0000, moved = rsp + (u64)table.exits.v[exit].rsp_disp;
    const u64 states[] = {rsp, moved, moved};
    for (u32 i = 0; i < 3; i++) {
        raw.n = 0;
        put_state(states[i]);
        if (i < 2)
            put_exit(exit, 0);
        CHECK(pack_records(p, raw.v, raw.n, &e) == 0);
    }
    /* The second said what was known; the third did not, for the exit before it had moved rsp again. */
    CHECK(p->head.records == (table.exits.v[exit].rsp_disp ? 4 : 3));
    pack_free(p);
}

/* A program may end before any of it was translated. */
static void an_empty_table_will_do(void)
{
    struct unit_table none = {0};
    struct pack *p = pack_new(&none);
    struct err e;
    struct unpack u;
    const char *fault;
    u8 out[2 * RECORD_LIMIT];
    raw.n = packed.n = 0;
    put_state(0);
    CHECK(pack_records(p, raw.v, raw.n, &e) == 0);
    pack_store(p, &packed);
    pack_free(p);
    CHECK(!unpack_begin(&u, &none, 0, packed.v, packed.n));
    CHECK(unpack_some(&u, out, sizeof out, &fault) == (s64)raw.n && !memcmp(out, raw.v, raw.n));
    unpack_end(&u);
}

/* -- What cannot be packed, and what is not packed records ------------------------------------- */

static const char *refusal(void)
{
    static struct err e;
    struct pack *p = pack_new(&table);
    e.text[0] = 0;
    int bad = pack_records(p, raw.v, raw.n, &e);
    pack_free(p);
    return bad ? e.text : "";
}

static void impossible_records_are_refused(void)
{
    u64 slots[256] = {0};
    u32 n = table.exits.v[0].slots;
    const struct {
        u32 id, slots;
        const char *words;
    } bad[] = {
        {FIRST_EXIT_ID + (u32)table.exits.n, 1, "does not exist"},
        {FIRST_EXIT_ID, n + 1, "another number of slots"},
        {RECORD_syscall, 2, "another number of slots"},
        {15, 1, "unknown number"},
    };
    for (u32 i = 0; i < ARRAY_LEN(bad); i++) {
        raw.n = 0;
        put_state(0);
        put_record(bad[i].id, bad[i].slots, slots);
        CHECK_CASE(strstr(refusal(), bad[i].words), "%u: %s", i, refusal());
    }
    raw.n = 0;
    put_record(FIRST_EXIT_ID, n, slots);
    CHECK(strstr(refusal(), "no state record"));
    raw.n = 0;
    put_state(0);
    raw.n -= 3;
    CHECK(strstr(refusal(), "cut off"));
}

static void a_chunk_begins_with_a_state(void)
{
    struct pack *p = pack_new(&table);
    struct err e;
    struct unpack u;
    const char *fault;
    u8 out[2 * RECORD_LIMIT];
    raw.n = packed.n = 0;
    put_record(RECORD_lost, 2, (const u64[]){1, 2});
    p->head.records = 1; /* as if something stood before it */
    CHECK(pack_records(p, raw.v, raw.n, &e) == 0);
    p->head.records = 1;
    pack_store(p, &packed);
    pack_free(p);
    CHECK(!unpack_begin(&u, &table, (u32)table.exits.n, packed.v, packed.n));
    CHECK(unpack_some(&u, out, sizeof out, &fault) == -1 && strstr(fault, "state record"));
    unpack_end(&u);
}

/* Changed anywhere, contents are refused or unpack to something; under the sanitizers, no more may happen. */
static void damage_is_unpacked_safely(void)
{
    u64 refused = 0;
    u8 *out = malloc(70000);
    seed = 5;
    CHECK(survives(2, 500, 70000));
    for (u32 i = 0; i < 3000; i++) {
        struct unpack u;
        size_t at = i % 3 ? rnd(packed.n) : rnd(300), n = packed.n - (i % 5 ? 0 : rnd(packed.n));
        u8 was = packed.v[at];
        packed.v[at] = (u8)rnd(256);
        const char *fault = unpack_begin(&u, &table, (u32)table.exits.n - i % 2, packed.v, n);
        for (u32 k = 0; !fault && k < 20 && unpack_some(&u, out, 70000, &fault) > 0; k++)
            ;
        refused += fault != NULL;
        unpack_end(&u);
        packed.v[at] = was;
    }
    free(out);
    CHECK(refused > 1000);
}

int main(void)
{
    make_table();
    random_records_survive();
    a_regular_program_is_small();
    rounds_of_a_loop_share_a_column();
    columns_need_not_be_shared();
    redundant_states_are_dropped();
    an_empty_table_will_do();
    impossible_records_are_refused();
    a_chunk_begins_with_a_state();
    damage_is_unpacked_safely();
    unit_table_fini(&table);
    vec_fini(&raw);
    vec_fini(&packed);
    return test_end("pack");
}
