/* SPDX-License-Identifier: MIT */
/* Records to references: each form by hand, both paths against each other and against a naive reading on random tables,
 * and data that nobody would write.
 *
 * Data ends at the end of a page with nothing behind it: a decoder that reads on crashes, in vector code too. */
#include "decode/decode.h"
#include "wire/wire.h"
#include "test.h"

#include <cpuid.h>
#include <string.h>
#include <sys/mman.h>

#define STATE_RSP 0x7ffffffde000ul
#define STATE_FS  0x7ffff7d80740ul
#define STATE_GS  0x123456789000ul

static u64 seed = 0x9e3779b97f4a7c15;

static u64 rnd(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 0x2545f4914f6cdd1d >> 11;
}

/* One of n numbers. */
static u32 pick(u32 n)
{
    return (u32)(rnd() % n);
}

static u64 rnd64(void)
{
    return rnd() << 32 ^ rnd();
}

/* -- Data that ends at the end of the world --------------------------------------------------- */

enum { ROOM = 1 << 22 };
static u8 *room;

static void make_room(void)
{
    room = mmap(NULL, ROOM + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(room != MAP_FAILED && mprotect(room + ROOM, 4096, PROT_NONE) == 0);
}

struct data {
    VEC(u8) bytes;
};

static void put_record(struct data *d, u32 id, u32 n, const u64 *slots)
{
    u32 header = id << RECORD_ID_SHIFT | n;
    memcpy(vec_grow(&d->bytes, 4), &header, 4);
    if (n)
        memcpy(vec_grow(&d->bytes, 8 * n), slots, 8 * (size_t)n);
}

static void put_state(struct data *d)
{
    u64 state[] = {STATE_RSP, STATE_FS, STATE_GS, 1};
    put_record(d, RECORD_state, RECORD_state_slots, state);
}

/* The first n bytes of the data, at the end of the room. */
static const u8 *placed(const struct data *d, size_t n)
{
    check(n <= ROOM);
    return n ? memcpy(room + ROOM - n, d->bytes.v, n) : room + ROOM;
}

/* -- Small tables ----------------------------------------------------------------------------- */

static struct ref blank_ref(void)
{
    return (struct ref){.size = 8, .a = TERM_NONE, .b = TERM_NONE, .seg = TERM_NONE, .x = TERM_NONE, .y = TERM_NONE,
                        .z = TERM_NONE};
}

static void add_insn(struct unit_table *t, u64 pc, u8 refs)
{
    vec_push(&t->insns, ((struct unit_insn){.pc = pc, .len = 1, .refs = refs, .bytes = (u32)t->code.n}));
    vec_push(&t->code, 0x90);
}

/* One unit of one instruction with these references; its one exit has so many slots. */
static void one_unit(struct unit_table *t, const struct ref *r, u32 n, u8 slots)
{
    *t = (struct unit_table){0};
    vec_push(&t->units, ((struct unit){.pc = 0x1000, .n_insns = 1, .n_refs = n, .n_exits = 1}));
    add_insn(t, 0x1000, (u8)n);
    for (u32 i = 0; i < n; i++)
        vec_push(&t->refs, r[i]);
    vec_push(&t->exits, ((struct unit_exit){.insns = 1, .refs = (u16)n, .slots = slots, .rsp_term = TERM_RSP}));
    const char *fault = unit_table_fault(t);
    CHECK_CASE(!fault, "%s", fault);
}

static struct batch *batch, *other;

/* Decode one record of the only exit, by either path; the batch is left for a look. */
static void decode_one(const struct unit_table *t, u32 n, const u64 *slots, bool scalar)
{
    struct data d = {0};
    struct decoder dec;
    struct err e = {""};
    bool ended;
    put_state(&d);
    put_record(&d, FIRST_EXIT_ID, n, slots);
    for (int i = 0; i < 40; i++) /* far from the end, where the vector path runs */
        put_record(&d, RECORD_syscall, RECORD_syscall_slots, (u64[]){1, 2, 3});
    decoder_init(&dec, t, scalar);
    for (int twice = 0; twice < 2; twice++) { /* a plan may be made at the first and used at the second */
        decoder_reset(&dec);
        s64 used = decode_batch(&dec, placed(&d, d.bytes.n), d.bytes.n, batch, &ended, &e);
        CHECK_CASE(used == (s64)d.bytes.n, "%s", e.text);
    }
    CHECK(batch->n_records == 42 && batch->exit[1] == FIRST_EXIT_ID && batch->record_at[1] == 36);
    CHECK(batch->first[1] == 0 && batch->first[2] == batch->n_refs && batch->insns == 1);
    CHECK(batch->loads + batch->stores + batch->modifies == batch->n_refs);
    decoder_fini(&dec);
    vec_fini(&d.bytes);
}

/* The addresses that one reference gives, by both paths. */
#define CHECK_ADDRESSES(r, slots, ...)                                                                       \
    do {                                                                                                     \
        const u64 want[] = {0, __VA_ARGS__};                                                                 \
        check_addresses(&(r), 1, slots, ARRAY_LEN(slots), want + 1, ARRAY_LEN(want) - 1, __LINE__);          \
    } while (0)

static void check_addresses(const struct ref *r, u32 n_refs, const u64 *slots, size_t n_slots, const u64 *want, size_t n,
                            int line)
{
    for (int scalar = 0; scalar < 2; scalar++) {
        struct unit_table t;
        one_unit(&t, r, n_refs, (u8)n_slots);
        decode_one(&t, (u32)n_slots, slots, scalar);
        CHECK_CASE(batch->n_refs == n, "line %d: %u references", line, batch->n_refs);
        for (size_t i = 0; i < n && i < batch->n_refs; i++)
            CHECK_CASE(batch->addr[i] == want[i], "line %d: address %zu is 0x%lx", line, i, (unsigned long)batch->addr[i]);
        unit_table_fini(&t);
    }
}

/* -- Each form -------------------------------------------------------------------------------- */

static void plain_references_are_sums(void)
{
    const u64 slots[] = {0x1000, 0x20, 0xffffffffffffff00};
    struct ref r = blank_ref();
    r.disp = 0x123456789abc;
    CHECK_ADDRESSES(r, slots, 0x123456789abc);
    r.a = 0;
    CHECK_ADDRESSES(r, slots, 0x123456789abc + 0x1000);
    r.b = 1, r.shift = 3, r.disp = -8;
    CHECK_ADDRESSES(r, slots, 0x1000 + 0x100 - 8);
    r.a = TERM_NONE;
    CHECK_ADDRESSES(r, slots, 0x100 - 8);
    r.a = TERM_RSP, r.b = 2, r.shift = 0;
    CHECK_ADDRESSES(r, slots, STATE_RSP - 0x100 - 8);
    r.a = 2, r.b = 2, r.shift = 63, r.disp = 0x200;
    CHECK_ADDRESSES(r, slots, 0x100);
    r.shift = 56;
    CHECK_ADDRESSES(r, slots, 0x100);
    r.a = TERM_FS, r.b = TERM_GS, r.shift = 4;
    CHECK_ADDRESSES(r, slots, STATE_FS + (STATE_GS << 4) + 0x200);
}

static void segments_are_added_and_32_bits_are_kept(void)
{
    const u64 slots[] = {0xfffffffffffffff0};
    struct ref r = blank_ref();
    r.a = 0, r.disp = 0x20, r.seg = TERM_FS;
    CHECK_ADDRESSES(r, slots, STATE_FS + 0x10);
    r.seg = TERM_GS;
    CHECK_ADDRESSES(r, slots, STATE_GS + 0x10);
    r.flags = REF_ADDR32, r.disp = 0;
    CHECK_ADDRESSES(r, slots, STATE_GS + 0xfffffff0);
    r.seg = TERM_NONE;
    CHECK_ADDRESSES(r, slots, 0xfffffff0);
    r.seg = TERM_FS, r.a = TERM_NONE, r.flags = 0, r.disp = -8;
    CHECK_ADDRESSES(r, slots, STATE_FS - 8);
    r.b = 0, r.shift = 1;
    CHECK_ADDRESSES(r, slots, STATE_FS - 8 - 0x20);
}

static void bit_offsets_choose_their_cell(void)
{
    struct ref r = blank_ref();
    r.op = REF_BIT, r.a = 0, r.x = 1;
    const struct {
        u64 bit;
        u32 size;
        s64 at;
    } cases[] = {{0, 8, 0},   {63, 8, 0},   {64, 8, 8},           {(u64)-1, 8, -8},           {(u64)-64, 8, -8}, {(u64)-65, 8, -16},
                 {31, 4, 0},  {32, 4, 4},   {0xffffffff, 4, -4},  {0x80000000, 4, -0x10000000}, {15, 2, 0},        {16, 2, 2},
                 {0x10010, 2, 2}, {0xffff, 2, -2}, {0x7fffffffffffffff, 8, 0x0ffffffffffffff8}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const u64 slots[] = {0x10000000000000, cases[i].bit};
        r.size = cases[i].size;
        CHECK_ADDRESSES(r, slots, 0x10000000000000 + (u64)cases[i].at);
    }
}

static void xlat_adds_a_byte_and_a_line_is_whole(void)
{
    const u64 slots[] = {0x1013, 0x12345680};
    struct ref r = blank_ref();
    r.op = REF_XLAT, r.a = 0, r.x = 1, r.size = 1;
    CHECK_ADDRESSES(r, slots, 0x1013 + 0x80);
    r = blank_ref();
    r.op = REF_LINE, r.a = 0, r.size = 64, r.kind = REF_STORE;
    CHECK_ADDRESSES(r, slots, 0x1000);
}

static void k_masks_choose_elements(void)
{
    const u64 slots[] = {0x1000, 0xffffffffffff0005, 0xffffffffffff0000};
    struct ref r = blank_ref();
    r.a = 0, r.x = 1, r.size = 4, r.count = 16, r.op = REF_MASK_K;
    CHECK_ADDRESSES(r, slots, 0x1000, 0x1008);
    r.op = REF_PACK_K;
    CHECK_ADDRESSES(r, slots, 0x1000, 0x1004);
    r.op = REF_ANY_K;
    CHECK_ADDRESSES(r, slots, 0x1000);
    r.x = 2;
    CHECK_ADDRESSES(r, slots, );
    r.op = REF_MASK_K;
    CHECK_ADDRESSES(r, slots, );
    r.x = 1, r.count = 2;
    CHECK_ADDRESSES(r, slots, 0x1000);
    const u64 bytes[] = {0x1000, 0x8000000000000001};
    r.size = 1, r.count = 64;
    CHECK_ADDRESSES(r, bytes, 0x1000, 0x103f);
    r.op = REF_PACK_K;
    CHECK_ADDRESSES(r, bytes, 0x1000, 0x1001);
}

static void vector_masks_choose_elements_by_their_top_bits(void)
{
    const u64 slots[] = {0x1000, 0x800000007fffffff, 0x7fffffff80000000};
    struct ref r = blank_ref();
    r.a = 0, r.x = 1, r.size = r.width = 4, r.count = 4, r.op = REF_MASK_V;
    CHECK_ADDRESSES(r, slots, 0x1004, 0x1008);
    r.size = r.width = 8, r.count = 2;
    CHECK_ADDRESSES(r, slots, 0x1000);
    r.size = r.width = 1, r.count = 16;
    CHECK_ADDRESSES(r, slots, 0x1000, 0x1001, 0x1002, 0x1007, 0x100b, 0x100c, 0x100d, 0x100e);
}

static void gathers_take_signed_indices(void)
{
    /* base, k mask, indices of 4 bytes: 1, -1, 5, -2^31 */
    const u64 slots[] = {0x100000, 0xf7, 0xffffffff00000001, 0x8000000000000005};
    struct ref r = blank_ref();
    r.a = 0, r.x = 1, r.y = 2, r.shift = 2, r.size = 8, r.width = 4, r.count = 4, r.op = REF_INDEX_K, r.disp = 0x10;
    CHECK_ADDRESSES(r, slots, 0x100014, 0x10000c, 0x100024);
    r.seg = TERM_FS;
    CHECK_ADDRESSES(r, slots, STATE_FS + 0x100014, STATE_FS + 0x10000c, STATE_FS + 0x100024);
    r.seg = TERM_NONE, r.flags = REF_ADDR32, r.shift = 3;
    const u64 all[] = {0x100000, 0xf, 0xffffffff00000001, 0x8000000000000005};
    CHECK_ADDRESSES(r, all, 0x100018, 0x100008, 0x100038, 0x100010);
    /* a mask vector of 4-byte elements for 8-byte indices */
    const u64 wide[] = {0x100000, 0x8000000000000000, 7, (u64)-3};
    r = blank_ref();
    r.a = 0, r.x = 1, r.y = 2, r.size = 4, r.width = 8, r.count = 2, r.op = REF_INDEX_V;
    CHECK_ADDRESSES(r, wide, 0x100000 - 3);
}

/* Two references taking turns: the load and the store of a rep movs. */
static void rep_takes_turns_up_and_down(void)
{
    struct ref r[2] = {blank_ref(), blank_ref()};
    r[0].op = r[1].op = REF_REP, r[0].size = r[1].size = 4, r[0].flags = REF_PAIRED, r[1].kind = REF_STORE;
    r[0].a = 1, r[1].a = 2, r[0].x = r[1].x = 0, r[0].z = 3, r[1].z = 4;
    const u64 up[] = {3, 0x1000, 0x2000, 0x100c, 0x200c}, down[] = {2, 0x1000, 0x2000, 0xff8, 0x1ff8};
    const u64 none[] = {0, 0x1000, 0x2000, 0x1000, 0x2000};
    const u64 want_up[] = {0x1000, 0x2000, 0x1004, 0x2004, 0x1008, 0x2008};
    const u64 want_down[] = {0x1000, 0x2000, 0xffc, 0x1ffc};
    check_addresses(r, 2, up, 5, want_up, 6, __LINE__);
    CHECK(batch->loads == 3 && batch->stores == 3);
    check_addresses(r, 2, down, 5, want_down, 4, __LINE__);
    check_addresses(r, 2, none, 5, NULL, 0, __LINE__);
    /* One that stops early, with a count after it; and one whose registers are 32 bits wide. */
    struct ref s = blank_ref();
    s.op = REF_REP, s.size = 1, s.a = 0, s.x = 1, s.y = 2, s.z = 3;
    const u64 early[] = {0x1000, 10, 8, 0x1002}, narrow[] = {0xffffffff, 0x500000003, 0x700000001, 1};
    CHECK_ADDRESSES(s, early, 0x1000, 0x1001);
    s.flags = REF_ADDR32;
    CHECK_ADDRESSES(s, narrow, 0xffffffff, 0);
}

static u32 standard_area(u64 mask)
{
    u32 lo, hi, a, b, c, d, size = 576;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    mask &= (u64)hi << 32 | lo;
    for (u32 i = 2; i < 63; i++)
        if (mask >> i & 1) {
            __cpuid_count(0xd, i, a, b, c, d);
            size = MAX(size, a + b);
        }
    return size;
}

static void xsave_areas_are_as_large_as_their_components(void)
{
    struct ref r = blank_ref();
    r.op = REF_XSAVE, r.kind = REF_STORE, r.size = 0, r.a = 0, r.x = 1, r.y = 2;
    const u64 masks[] = {0, 3, 7, 0xffffffff, 0xe7};
    for (size_t i = 0; i < ARRAY_LEN(masks); i++) {
        /* Only the low halves of rax and rdx count. */
        const u64 slots[] = {0x1000, 0x1234567800000000 | masks[i], 0xabcdef0000000000, 0};
        CHECK_ADDRESSES(r, slots, 0x1000);
        CHECK(batch->n_odd == 1 && batch->ref[0] == BATCH_ODD && batch->odd[0].ref == 0);
        CHECK(batch->odd[0].size == standard_area(masks[i]) && batch->stores == 1);
    }
    r.op = REF_XSAVEC;
    const u64 legacy[] = {0x1000, 3, 0, 0};
    CHECK_ADDRESSES(r, legacy, 0x1000);
    CHECK(batch->odd[0].size == 576);
    const u64 avx[] = {0x1000, 7, 0, 0};
    CHECK_ADDRESSES(r, avx, 0x1000);
    CHECK(batch->odd[0].size == 576 + 256);
    r.op = REF_XRSTOR, r.kind = REF_LOAD, r.z = 3;
    const u64 standard[] = {0x1000, 0xff, 0, 7}, compact[] = {0x1000, 0xff, 0, 1ull << 63 | 7};
    CHECK_ADDRESSES(r, standard, 0x1000);
    CHECK(batch->odd[0].size == standard_area(0xff));
    CHECK_ADDRESSES(r, compact, 0x1000);
    CHECK(batch->odd[0].size == 576 + 256);
}

/* -- Random tables ---------------------------------------------------------------------------- */

struct shape {
    u32 most_slots, most_refs, most_insns;
    bool specials, large_disps, odd_rsp;
    bool simple; /* one term each, and no segment */
};

static u8 random_term(u32 slots, const struct shape *s)
{
    u32 k = pick(16);
    if (k < 10 && slots)
        return (u8)pick(slots);
    return k < 13 ? TERM_RSP : k == 13 ? TERM_FS : k == 14 && s->specials ? TERM_GS : TERM_NONE;
}

static s64 random_disp(const struct shape *s)
{
    switch (pick(s->large_disps ? 6 : 2)) {
    case 0:
        return (s64)pick(64) - 32;
    case 1:
        return (s32)rnd();
    case 2:
        return (s64)(0x555555554000 + pick(0x10000)); /* absolute addresses of a program ... */
    case 3:
        return (s64)(0x7ffff7d00000 + pick(0x100000)); /* ... and of a library */
    case 4:
        return pick(2) ? (s64)0x7fffffff + pick(3) : -(s64)0x80000000 - pick(3);
    default:
        return (s64)rnd64();
    }
}

/* A reference that looks at fresh slots; returns how many. */
static u32 random_special(struct ref *r, u32 slots)
{
    static const u8 widths[] = {1, 2, 4, 8};
    u32 width = widths[pick(4)];
    u8 first = (u8)slots;
    r->op = (u8)(REF_BIT + pick(REF_OP_LIMIT - REF_BIT));
    r->x = first;
    switch (r->op) {
    case REF_BIT:
        r->size = 1u << (1 + pick(3));
        return 1;
    case REF_XLAT:
        return 1;
    case REF_REP:
        r->y = pick(2) ? TERM_NONE : (u8)(first + 1);
        r->z = (u8)(first + 2);
        r->size = width;
        return 3;
    case REF_MASK_K:
    case REF_PACK_K:
        r->size = width;
        r->count = (u8)(1 + pick(64 / width));
        return 1;
    case REF_ANY_K:
        r->size = width;
        r->count = (u8)(1 + pick(64));
        return 1;
    case REF_MASK_V:
        r->size = r->width = (u8)width;
        r->count = (u8)(1 + pick(32 / width));
        return 4;
    case REF_INDEX_K:
    case REF_INDEX_V:
        r->size = width;
        r->width = pick(2) ? 4 : 8;
        r->count = (u8)(1 + pick(MIN(64 / width, 64u / r->width)));
        r->y = (u8)(first + 8);
        r->shift = (u8)pick(4);
        return 16;
    case REF_XSAVE:
    case REF_XSAVEC:
    case REF_XRSTOR:
        r->size = 0;
        r->y = (u8)(first + 1);
        r->z = r->op == REF_XRSTOR ? (u8)(first + 2) : TERM_NONE;
        return 3;
    default:
        r->x = TERM_NONE;
        r->op = REF_LINE;
        r->size = 64;
        return 0;
    }
}

/* Add one instruction's references; may bring new slots. */
static u8 random_refs(struct unit_table *t, u32 insn, u32 *slots, const struct shape *s)
{
    u32 n = pick(4);
    for (u32 i = 0; i < n; i++) {
        struct ref r = blank_ref();
        if (*slots < s->most_slots && pick(2))
            *slots += 1 + pick(s->simple ? MIN(4, s->most_slots - *slots) : 1);
        r.insn = (u16)insn;
        r.kind = (u8)pick(3);
        r.size = 1u << pick(4);
        r.a = random_term(*slots, s);
        r.b = s->simple || pick(3) ? TERM_NONE : random_term(*slots, s);
        r.shift = (u8)(pick(8) ? pick(4) : pick(64));
        r.disp = random_disp(s);
        r.seg = s->simple || pick(12) ? TERM_NONE : s->specials && pick(2) ? TERM_GS : TERM_FS;
        if (s->specials && !pick(12))
            r.flags = REF_ADDR32;
        if (s->specials && !pick(4) && *slots + 16 <= s->most_slots)
            *slots += random_special(&r, *slots);
        vec_push(&t->refs, r);
        if (r.op == REF_REP && pick(2)) {
            t->refs.v[t->refs.n - 1].flags |= REF_PAIRED;
            r.a = random_term(*slots, s);
            r.kind = REF_STORE;
            vec_push(&t->refs, r);
            n++, i++;
        }
    }
    return (u8)n;
}

static struct unit_exit random_exit(u32 unit, u32 insns, u32 refs, u32 slots, const struct shape *s)
{
    struct unit_exit x = {.unit = unit, .insns = (u16)insns, .refs = (u16)refs, .slots = (u8)slots};
    u32 k = pick(8);
    x.rsp_term = k < 5 || !slots ? TERM_RSP : k < 7 ? (u8)pick(slots) : TERM_NONE;
    x.rsp_disp = pick(16) || !s->large_disps ? (s64)pick(64) * 8 - 256 : (s64)rnd64();
    if (s->odd_rsp && !pick(4))
        x.rsp_term = pick(2) ? TERM_FS : TERM_GS;
    return x;
}

static void random_table(struct unit_table *t, u32 units, const struct shape *s)
{
    *t = (struct unit_table){0};
    for (u32 i = 0; i < units; i++) {
        struct unit u = {.pc = 0x1000 + 0x100 * (u64)i, .insn0 = (u32)t->insns.n, .ref0 = (u32)t->refs.n,
                         .exit0 = (u32)t->exits.n};
        u32 insns = 1 + pick(s->most_insns), slots = 0;
        for (u32 k = 0; k < insns; k++) {
            size_t before = t->refs.n;
            u8 n = t->refs.n - u.ref0 < s->most_refs ? random_refs(t, k, &slots, s) : 0;
            check(t->refs.n == before + n);
            add_insn(t, u.pc + k, n);
            if (k + 1 == insns || !pick(4))
                vec_push(&t->exits, random_exit(i, k + 1, (u32)t->refs.n - u.ref0, slots, s));
        }
        if (!pick(4)) /* a landing: no instructions at all */
            vec_push(&t->exits, ((struct unit_exit){.unit = i, .kind = EXIT_LANDING, .rsp_term = TERM_NONE}));
        u.n_insns = insns;
        u.n_refs = (u32)t->refs.n - u.ref0;
        u.n_exits = (u32)t->exits.n - u.exit0;
        vec_push(&t->units, u);
    }
    const char *fault = unit_table_fault(t);
    CHECK_CASE(!fault, "%s", fault);
}

/* Slots for a record: anything, but the counts of rep instructions stay small. */
static void random_slots(const struct unit_table *t, const struct unit_exit *x, u64 *slots)
{
    const struct ref *r = t->refs.v + t->units.v[x->unit].ref0;
    for (u32 i = 0; i < x->slots; i++)
        slots[i] = pick(4) ? rnd64() : pick(100);
    for (u32 j = 0; j < x->refs; j++)
        if (r[j].op == REF_REP) {
            u64 n = pick(50) ? pick(8) : pick(20000);
            slots[r[j].x] = r[j].y == TERM_NONE ? n : slots[r[j].y] + n;
        }
}

static void random_records(struct data *d, const struct unit_table *t, u32 n)
{
    u64 slots[256];
    put_state(d);
    while (n-- && d->bytes.n < ROOM - 4096) {
        u32 k = pick(200);
        if (k < 2) {
            u64 state[] = {rnd64(), rnd64(), rnd64(), 0};
            put_record(d, RECORD_state, RECORD_state_slots, state);
        } else if (k < 4) {
            put_record(d, RECORD_syscall, RECORD_syscall_slots, (u64[]){1, 2, 3});
        } else {
            u32 exit = pick((u32)t->exits.n);
            random_slots(t, &t->exits.v[exit], slots);
            put_record(d, FIRST_EXIT_ID + exit, t->exits.v[exit].slots, slots);
        }
    }
}

/* -- Whole streams ---------------------------------------------------------------------------- */

/* All that was decoded, batch after batch, with the parts of a record joined. */
struct stream {
    VEC(u32) exit;
    VEC(u32) first;
    VEC(u64) addr;
    VEC(u32) ref;
    VEC(u32) size;
    u64 insns, loads, stores, modifies;
    u32 batches;
    struct carried carried;
    s64 result;
    struct err err;
};

static void stream_fini(struct stream *s)
{
    vec_fini(&s->exit);
    vec_fini(&s->first);
    vec_fini(&s->addr);
    vec_fini(&s->ref);
    vec_fini(&s->size);
}

static void add_batch(struct stream *s, const struct unit_table *t, const struct batch *b, bool continues)
{
    for (u32 i = continues; i < b->n_records; i++) {
        vec_push(&s->exit, b->exit[i]);
        vec_push(&s->first, (u32)s->addr.n + b->first[i]);
    }
    for (u32 j = 0; j < b->n_refs; j++) {
        bool odd = b->ref[j] & BATCH_ODD;
        u32 k = b->ref[j] & ~BATCH_ODD;
        vec_push(&s->addr, b->addr[j]);
        vec_push(&s->ref, odd ? b->odd[k].ref : b->ref[j]);
        vec_push(&s->size, odd ? b->odd[k].size : t->refs.v[b->ref[j]].size);
    }
    s->insns += b->insns;
    s->loads += b->loads;
    s->stores += b->stores;
    s->modifies += b->modifies;
    s->batches++;
}

/* Whatever the data: a batch is within its bounds. */
static bool is_sane(const struct unit_table *t, const struct batch *b, size_t size)
{
    if (b->n_records > BATCH_RECORDS || b->n_refs > BATCH_REFS || b->n_odd > BATCH_ODD_LIMIT ||
        b->first[b->n_records] != b->n_refs)
        return false;
    for (u32 i = 0; i < b->n_records; i++)
        if (b->first[i] > b->first[i + 1] || b->record_at[i] >= size || (i && b->record_at[i] <= b->record_at[i - 1]) ||
            (b->exit[i] >= FIRST_EXIT_ID && b->exit[i] - FIRST_EXIT_ID >= t->exits.n))
            return false;
    for (u32 j = 0; j < b->n_refs; j++)
        if (b->ref[j] & BATCH_ODD ? (b->ref[j] & ~BATCH_ODD) >= b->n_odd : b->ref[j] >= t->refs.n)
            return false;
    return true;
}

/* Decode all, but no more than so many batches. */
static void decode_all(struct stream *s, const struct unit_table *t, const u8 *data, size_t size, bool scalar, u32 limit)
{
    struct decoder d;
    bool ended = false;
    size_t at = 0;
    *s = (struct stream){0};
    decoder_init(&d, t, scalar);
    while (at < size && !ended && s->batches < limit) {
        bool continues = d.unfinished;
        s->result = decode_batch(&d, data + at, size - at, batch, &ended, &s->err);
        if (s->result < 0)
            break;
        CHECK(is_sane(t, batch, size - at) && (size_t)s->result <= size - at);
        CHECK(batch->n_records || ended || size - at < RECORD_SLOTS_AT); /* less than a header is left alone */
        add_batch(s, t, batch, continues);
        at += (size_t)s->result;
        if (!batch->n_records && !s->result)
            break;
    }
    s->carried = d.carried;
    decoder_fini(&d);
}

#define SAME(x, y, part)                                                                           \
    ((x)->part.n == (y)->part.n &&                                                                 \
     (!(x)->part.n || !memcmp((x)->part.v, (y)->part.v, (x)->part.n * sizeof *(x)->part.v)))

static bool same_stream(const struct stream *x, const struct stream *y)
{
    bool same_refs = SAME(x, y, addr) && SAME(x, y, ref) && SAME(x, y, size);
    bool same_records = SAME(x, y, exit) && SAME(x, y, first);
    bool same_counts = x->insns == y->insns && x->loads == y->loads && x->stores == y->stores && x->modifies == y->modifies;
    bool same_state = x->carried.rsp == y->carried.rsp && x->carried.fs == y->carried.fs && x->carried.gs == y->carried.gs;
    return same_refs && same_records && same_counts && same_state && (x->result < 0) == (y->result < 0);
}

/* Where two streams part, for the message. */
static size_t first_difference(const struct stream *x, const struct stream *y)
{
    size_t n = MIN(x->addr.n, y->addr.n), i = 0;
    while (i < n && x->addr.v[i] == y->addr.v[i] && x->ref.v[i] == y->ref.v[i])
        i++;
    return i;
}

/* -- A naive reading, of tables without special forms ------------------------------------------ */

static u64 naive_term(const struct carried *c, const u8 *slots, u8 t)
{
    u64 v = 0;
    if (t < TERM_SLOT_LIMIT)
        memcpy(&v, slots + 8 * t, 8);
    return t == TERM_RSP ? c->rsp : t == TERM_FS ? c->fs : t == TERM_GS ? c->gs : v;
}

static void naive_record(struct stream *s, const struct unit_table *t, u32 id, const u8 *slots)
{
    struct carried *c = &s->carried;
    vec_push(&s->exit, id);
    vec_push(&s->first, (u32)s->addr.n);
    if (id == RECORD_state) {
        memcpy(&c->rsp, slots, 8);
        memcpy(&c->fs, slots + 8, 8);
        memcpy(&c->gs, slots + 16, 8);
    }
    if (id < FIRST_EXIT_ID)
        return;
    const struct unit_exit *x = &t->exits.v[id - FIRST_EXIT_ID];
    u32 ref0 = t->units.v[x->unit].ref0;
    for (u32 j = 0; j < x->refs; j++) {
        const struct ref *r = &t->refs.v[ref0 + j];
        u64 ea = naive_term(c, slots, r->a) + (naive_term(c, slots, r->b) << r->shift) + (u64)r->disp;
        if (r->flags & REF_ADDR32)
            ea = (u32)ea;
        vec_push(&s->addr, ea + naive_term(c, slots, r->seg));
        vec_push(&s->ref, ref0 + j);
        vec_push(&s->size, r->size);
        *(r->kind == REF_LOAD ? &s->loads : r->kind == REF_STORE ? &s->stores : &s->modifies) += 1;
    }
    s->insns += x->insns;
    c->rsp = naive_term(c, slots, x->rsp_term) + (u64)x->rsp_disp;
}

static void naive_all(struct stream *s, const struct unit_table *t, const u8 *data, size_t size)
{
    *s = (struct stream){0};
    for (size_t at = 0; at < size;) {
        u32 header;
        memcpy(&header, data + at, 4);
        naive_record(s, t, header >> RECORD_ID_SHIFT, data + at + 4);
        at += 4 + 8 * (size_t)(header & RECORD_SLOT_LIMIT);
    }
}

/* -- Both paths ------------------------------------------------------------------------------- */

static void compare_paths(const struct unit_table *t, u32 records, bool naive, const char *what)
{
    struct data d = {0};
    struct stream one, two, three;
    random_records(&d, t, records);
    const u8 *data = placed(&d, d.bytes.n);
    decode_all(&one, t, data, d.bytes.n, true, 1u << 30);
    decode_all(&two, t, data, d.bytes.n, false, 1u << 30);
    CHECK_CASE(one.result >= 0, "%s: %s", what, one.err.text);
    CHECK_CASE(same_stream(&one, &two), "%s: scalar and vector differ at reference %zu of %zu", what,
               first_difference(&one, &two), one.addr.n);
    if (naive) {
        naive_all(&three, t, data, d.bytes.n);
        CHECK_CASE(same_stream(&one, &three), "%s: naive and scalar differ at reference %zu of %zu", what,
                   first_difference(&one, &three), one.addr.n);
        stream_fini(&three);
    }
    stream_fini(&one);
    stream_fini(&two);
    vec_fini(&d.bytes);
}

static void both_paths_say_the_same_of_ordinary_tables(void)
{
    for (u32 i = 0; i < 120; i++) {
        /* Around every boundary of the vector path: few slots, many, more than it has lanes; many references. */
        static const u32 slots[] = {0, 1, 4, 6, 7, 8, 9, 12, 13, 14, 15, 16, 17, 20, 40, 100};
        struct shape s = {.most_slots = slots[i % 16], .most_refs = i % 5 ? 24 : 600, .most_insns = i % 5 ? 20 : 300,
                          .large_disps = i % 3 != 0};
        struct unit_table t;
        char what[64];
        snprintf(what, sizeof what, "table %u", i);
        random_table(&t, 1 + pick(30), &s);
        compare_paths(&t, i % 7 ? 400 : 6000, true, what);
        unit_table_fini(&t);
    }
}

/* Tables for which the shortest forms of plans are made, and units with more references than a plan may have. */
static void both_paths_say_the_same_of_simple_tables(void)
{
    for (u32 i = 0; i < 60; i++) {
        struct shape s = {.most_slots = 3 + i % 12, .most_refs = i % 6 ? 10 : 400, .most_insns = i % 6 ? 6 : 250,
                          .large_disps = i % 4 == 1, .simple = true};
        struct unit_table t;
        char what[64];
        snprintf(what, sizeof what, "simple table %u", i);
        random_table(&t, 20, &s);
        compare_paths(&t, 1000, true, what);
        unit_table_fini(&t);
    }
}

static void both_paths_say_the_same_of_special_forms(void)
{
    for (u32 i = 0; i < 80; i++) {
        struct shape s = {.most_slots = 20 + pick(200), .most_refs = 60, .most_insns = 30, .specials = true,
                          .large_disps = i & 1};
        struct unit_table t;
        char what[64];
        snprintf(what, sizeof what, "table %u", i);
        random_table(&t, 1 + pick(20), &s);
        compare_paths(&t, i % 8 ? 300 : 4000, false, what);
        unit_table_fini(&t);
    }
}

/* The check of a table allows fs and gs as what becomes of rsp: nobody writes it, but both paths must read it alike. */
static void both_paths_say_the_same_of_odd_stack_pointers(void)
{
    for (u32 i = 0; i < 10; i++) {
        struct shape s = {.most_slots = 6, .most_refs = 12, .most_insns = 8, .odd_rsp = true};
        struct unit_table t;
        random_table(&t, 10, &s);
        compare_paths(&t, 300, true, "odd rsp");
        unit_table_fini(&t);
    }
}

/* The same batches, not only the same stream, as long as none is nearly full. */
static void both_paths_make_the_same_batches(void)
{
    for (u32 i = 0; i < 40; i++) {
        struct shape s = {.most_slots = 5 + pick(12), .most_refs = 12, .most_insns = 8, .specials = i & 1};
        struct data d = {0};
        struct unit_table t;
        struct decoder one, two;
        struct err e;
        bool ended;
        random_table(&t, 20, &s);
        random_records(&d, &t, 300);
        const u8 *data = placed(&d, d.bytes.n);
        decoder_init(&one, &t, true);
        decoder_init(&two, &t, false);
        s64 n = decode_batch(&one, data, d.bytes.n, batch, &ended, &e);
        CHECK(decode_batch(&two, data, d.bytes.n, other, &ended, &e) == n);
        bool whole = batch->n_refs + 512 < BATCH_REFS; /* else the paths may stop at different records */
        CHECK(!whole || (batch->n_records == other->n_records && batch->n_refs == other->n_refs));
        if (whole) {
            CHECK(n == (s64)d.bytes.n);
            CHECK(!memcmp(batch->exit, other->exit, 4 * (size_t)batch->n_records));
            CHECK(!memcmp(batch->record_at, other->record_at, 4 * (size_t)batch->n_records));
            CHECK(!memcmp(batch->first, other->first, 4 * ((size_t)batch->n_records + 1)));
            CHECK(!memcmp(batch->addr, other->addr, 8 * (size_t)batch->n_refs));
            CHECK(!memcmp(batch->ref, other->ref, 4 * (size_t)batch->n_refs));
            CHECK(!memcmp(batch->odd, other->odd, 8 * (size_t)batch->n_odd) && batch->n_odd == other->n_odd);
        }
        decoder_fini(&one);
        decoder_fini(&two);
        vec_fini(&d.bytes);
        unit_table_fini(&t);
    }
}

/* -- Full batches ----------------------------------------------------------------------------- */

static void a_batch_of_many_records_ends_and_the_next_goes_on(void)
{
    struct ref r = blank_ref();
    struct unit_table t;
    struct stream s;
    one_unit(&t, &r, 0, 0);
    for (int scalar = 0; scalar < 2; scalar++) {
        struct data d = {0};
        put_state(&d);
        for (int i = 0; i < 5000; i++)
            put_record(&d, FIRST_EXIT_ID, 0, NULL);
        decode_all(&s, &t, placed(&d, d.bytes.n), d.bytes.n, scalar, 100);
        CHECK(s.result >= 0 && s.batches == 3 && s.exit.n == 5001 && s.insns == 5000 && s.addr.n == 0);
        stream_fini(&s);
        vec_fini(&d.bytes);
    }
    unit_table_fini(&t);
}

/* One instruction that touches more than a batch holds: given out in parts, counted once, consumed with the last. */
static void a_huge_rep_is_given_out_over_several_batches(void)
{
    struct ref r[2] = {blank_ref(), blank_ref()};
    r[0].op = r[1].op = REF_REP, r[0].size = r[1].size = 1, r[0].flags = REF_PAIRED, r[1].kind = REF_STORE;
    r[0].a = 1, r[1].a = 2, r[0].x = r[1].x = 0, r[0].z = 3, r[1].z = 4;
    struct unit_table t;
    one_unit(&t, r, 2, 5);
    for (int scalar = 0; scalar < 2; scalar++) {
        const u64 n = 100001, slots[] = {n, 0x10000, 0x900000, 0x10000 + n, 0x900000 + n};
        struct data d = {0};
        struct stream s;
        put_state(&d);
        put_record(&d, FIRST_EXIT_ID, 5, slots);
        put_record(&d, FIRST_EXIT_ID, 5, slots);
        decode_all(&s, &t, placed(&d, d.bytes.n), d.bytes.n, scalar, 100);
        CHECK(s.batches == 2 * 2 * n / BATCH_REFS + 1 && s.exit.n == 3 && s.insns == 2);
        CHECK(s.loads == 2 * n && s.stores == 2 * n && s.addr.n == 4 * n && s.first.v[2] == 2 * n);
        for (u64 i = 0; i < MIN(s.addr.n, 4 * n); i++)
            if (s.addr.v[i] != (i & 1 ? 0x900000 : 0x10000) + i % (2 * n) / 2 || s.ref.v[i] != (i & 1)) {
                CHECK_CASE(false, "reference %lu is 0x%lx", (unsigned long)i, (unsigned long)s.addr.v[i]);
                break;
            }
        stream_fini(&s);
        vec_fini(&d.bytes);
    }
    unit_table_fini(&t);
}

static void a_rep_without_end_gives_batches_without_end(void)
{
    struct ref r = blank_ref();
    r.op = REF_REP, r.size = 1, r.a = 0, r.x = 1, r.z = 2;
    struct unit_table t;
    one_unit(&t, &r, 1, 3);
    const u64 slots[] = {0xffffffffffffff00, 0xffffffffffffffff, 0};
    for (int scalar = 0; scalar < 2; scalar++) {
        struct data d = {0};
        struct stream s;
        put_state(&d);
        put_record(&d, FIRST_EXIT_ID, 3, slots);
        decode_all(&s, &t, placed(&d, d.bytes.n), d.bytes.n, scalar, 10);
        CHECK(s.batches == 10 && s.addr.n == 10 * BATCH_REFS && s.insns == 0 && s.exit.n == 2);
        CHECK(s.addr.v[s.addr.n - 1] == 0xffffffffffffff00 + 10 * BATCH_REFS - 1);
        stream_fini(&s);
        vec_fini(&d.bytes);
    }
    unit_table_fini(&t);
}

/* References of a size known only at run time have a list of their own, which fills up sooner. */
static void many_xsaves_fill_several_batches(void)
{
    struct ref r = blank_ref();
    r.op = REF_XSAVE, r.size = 0, r.kind = REF_STORE, r.a = 0, r.x = 1, r.y = 2;
    struct unit_table t;
    struct stream s;
    one_unit(&t, &r, 1, 3);
    for (int scalar = 0; scalar < 2; scalar++) {
        struct data d = {0};
        put_state(&d);
        for (u64 i = 0; i < 3000; i++)
            put_record(&d, FIRST_EXIT_ID, 3, (u64[]){i, 3, 0});
        decode_all(&s, &t, placed(&d, d.bytes.n), d.bytes.n, scalar, 100);
        CHECK(s.addr.n == 3000 && s.insns == 3000 && s.stores == 3000 && s.exit.n == 3001 && s.batches == 3);
        for (u64 i = 0; i < MIN(s.addr.n, 3000ul); i++)
            CHECK(s.addr.v[i] == i && s.size.v[i] == 576 && s.ref.v[i] == 0);
        stream_fini(&s);
        vec_fini(&d.bytes);
    }
    unit_table_fini(&t);
}

/* -- Data that nobody would write ------------------------------------------------------------- */

static s64 decode_bytes(const struct unit_table *t, const struct data *d, size_t n, bool scalar, bool *ended, struct err *e)
{
    struct decoder dec;
    e->text[0] = 0;
    decoder_init(&dec, t, scalar);
    s64 r = decode_batch(&dec, placed(d, n), n, batch, ended, e);
    if (r >= 0)
        CHECK(is_sane(t, batch, n));
    decoder_fini(&dec);
    return r;
}

static void damaged_records_are_refused_with_a_sentence(void)
{
    struct ref r = blank_ref();
    struct unit_table t;
    r.a = 0;
    one_unit(&t, &r, 1, 1);
    const u64 slots[8] = {0};
    const struct {
        u32 id, slots;
        bool state;
        const char *words;
    } cases[] = {
        {FIRST_EXIT_ID + 1, 0, true, "does not exist"},
        {EXIT_ID_LIMIT - 1, 1, true, "does not exist"},
        {FIRST_EXIT_ID, 0, true, "slots"},
        {FIRST_EXIT_ID, 2, true, "slots"},
        {FIRST_EXIT_ID, 1, false, "before any state"},
        {RECORD_state, 3, true, "slots"},
        {RECORD_syscall, 4, true, "slots"},
        {9, 1, true, "slots"},
    };
    for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
        struct data d = {0};
        struct err e;
        bool ended;
        if (cases[i / 2].state)
            put_state(&d);
        put_record(&d, cases[i / 2].id, cases[i / 2].slots, slots);
        for (int k = 0; k < 40; k++)
            put_record(&d, FIRST_EXIT_ID, 1, slots);
        CHECK_CASE(decode_bytes(&t, &d, d.bytes.n, i & 1, &ended, &e) == -1, "case %zu", i);
        CHECK_CASE(strstr(e.text, cases[i / 2].words), "case %zu: %s", i, e.text);
        vec_fini(&d.bytes);
    }
    unit_table_fini(&t);
}

static void a_zero_header_ends_the_data(void)
{
    struct ref r = blank_ref();
    struct unit_table t;
    one_unit(&t, &r, 1, 0);
    for (int i = 0; i < 4; i++) {
        struct data d = {0};
        struct err e;
        bool ended = false;
        put_state(&d);
        put_record(&d, FIRST_EXIT_ID, 0, NULL);
        put_record(&d, 0, i & 2 ? 2 : 0, (u64[]){1, 2});
        for (int k = 0; k < 100; k++)
            put_record(&d, FIRST_EXIT_ID, 0, NULL);
        CHECK(decode_bytes(&t, &d, d.bytes.n, i & 1, &ended, &e) == 40 && ended && batch->n_records == 2);
        vec_fini(&d.bytes);
    }
    unit_table_fini(&t);
}

/* Cut anywhere, a stream gives its whole records, and an error or nothing for the part of one. */
static void data_may_be_cut_off_anywhere(void)
{
    for (int k = 0; k < 6; k++) {
        struct shape s = {.most_slots = 3 + 8 * (u32)k, .most_refs = 10, .most_insns = 6, .specials = k & 1};
        struct data d = {0};
        struct unit_table t;
        random_table(&t, 6, &s);
        random_records(&d, &t, 12);
        for (size_t n = 0; n <= MIN(d.bytes.n, 3000u); n++) {
            struct stream one, two;
            decode_all(&one, &t, placed(&d, n), n, true, 100);
            decode_all(&two, &t, placed(&d, n), n, false, 100);
            CHECK_CASE(same_stream(&one, &two), "cut at %zu", n);
            stream_fini(&one);
            stream_fini(&two);
        }
        vec_fini(&d.bytes);
        unit_table_fini(&t);
    }
}

/* Damage: a few bytes of a good stream are changed. Both paths must agree on what is left. */
static void changed_bytes_do_no_harm(void)
{
    u32 good = 0, bad = 0;
    for (int i = 0; i < 1500; i++) {
        struct shape s = {.most_slots = pick(30), .most_refs = 16, .most_insns = 10, .specials = i & 1, .odd_rsp = i & 2};
        struct data d = {0};
        struct unit_table t;
        struct stream one, two;
        random_table(&t, 1 + pick(8), &s);
        random_records(&d, &t, 60);
        for (u32 k = 1 + pick(4); k; k--)
            d.bytes.v[pick((u32)d.bytes.n)] = (u8)rnd();
        const u8 *data = placed(&d, d.bytes.n);
        decode_all(&one, &t, data, d.bytes.n, true, 20);
        decode_all(&two, &t, data, d.bytes.n, false, 20);
        /* An error tells nothing about the batch it happened in. */
        CHECK_CASE((one.result < 0) == (two.result < 0), "case %d: %s | %s", i, one.err.text, two.err.text);
        if (one.result >= 0 && one.batches < 20 && two.batches < 20 && !s.odd_rsp)
            CHECK_CASE(same_stream(&one, &two), "case %d", i);
        good += one.result >= 0;
        bad += one.result < 0;
        stream_fini(&one);
        stream_fini(&two);
        vec_fini(&d.bytes);
        unit_table_fini(&t);
    }
    CHECK(good > 100 && bad > 100);
}

static void random_bytes_do_no_harm(void)
{
    struct shape s = {.most_slots = 60, .most_refs = 40, .most_insns = 20, .specials = true, .large_disps = true,
                      .odd_rsp = true};
    struct unit_table t;
    random_table(&t, 40, &s);
    for (int i = 0; i < 2000; i++) {
        struct data d = {0};
        struct stream one, two;
        if (i & 1)
            put_state(&d);
        size_t n = pick(i & 2 ? 64 : 4000);
        for (u8 *p = vec_grow(&d.bytes, n), *end = p + n; p < end; p++)
            *p = (u8)rnd();
        if (i & 4) /* headers that could be */
            for (size_t at = i & 1 ? 36 : 0; at + 4 < d.bytes.n; at += 4 + 8 * (size_t)d.bytes.v[at]) {
                u32 exit = pick((u32)t.exits.n), header = (FIRST_EXIT_ID + exit) << RECORD_ID_SHIFT | t.exits.v[exit].slots;
                memcpy(d.bytes.v + at, &header, 4);
            }
        const u8 *data = placed(&d, d.bytes.n);
        decode_all(&one, &t, data, d.bytes.n, true, 6);
        decode_all(&two, &t, data, d.bytes.n, false, 6);
        CHECK_CASE((one.result < 0) == (two.result < 0), "case %d: %s | %s", i, one.err.text, two.err.text);
        stream_fini(&one);
        stream_fini(&two);
        vec_fini(&d.bytes);
    }
    unit_table_fini(&t);
}

/* A decoder keeps nothing of the buffer before. */
static void a_reset_forgets(void)
{
    struct ref r = blank_ref();
    r.op = REF_REP, r.size = 1, r.a = 0, r.x = 1, r.z = 2;
    struct unit_table t;
    one_unit(&t, &r, 1, 3);
    for (int scalar = 0; scalar < 2; scalar++) {
        struct data d = {0}, bare = {0};
        struct decoder dec;
        struct err e;
        bool ended;
        put_state(&d);
        put_record(&d, FIRST_EXIT_ID, 3, (u64[]){0x1000, 50000, 0x2000});
        put_record(&bare, FIRST_EXIT_ID, 3, (u64[]){0x1000, 5, 0x2000});
        decoder_init(&dec, &t, scalar);
        CHECK(decode_batch(&dec, placed(&d, d.bytes.n), d.bytes.n, batch, &ended, &e) == 36 && dec.unfinished);
        decoder_reset(&dec);
        CHECK(!dec.unfinished && decode_batch(&dec, placed(&bare, bare.bytes.n), bare.bytes.n, batch, &ended, &e) == -1);
        decoder_reset(&dec);
        CHECK(decode_batch(&dec, placed(&d, d.bytes.n), d.bytes.n, batch, &ended, &e) == 36 && batch->addr[0] == 0x1000);
        decoder_fini(&dec);
        vec_fini(&d.bytes);
        vec_fini(&bare.bytes);
    }
    unit_table_fini(&t);
}

int main(void)
{
    make_room();
    batch = malloc(sizeof *batch);
    other = malloc(sizeof *other);
    check(batch && other);
    plain_references_are_sums();
    segments_are_added_and_32_bits_are_kept();
    bit_offsets_choose_their_cell();
    xlat_adds_a_byte_and_a_line_is_whole();
    k_masks_choose_elements();
    vector_masks_choose_elements_by_their_top_bits();
    gathers_take_signed_indices();
    rep_takes_turns_up_and_down();
    xsave_areas_are_as_large_as_their_components();
    both_paths_say_the_same_of_ordinary_tables();
    both_paths_say_the_same_of_simple_tables();
    both_paths_say_the_same_of_special_forms();
    both_paths_say_the_same_of_odd_stack_pointers();
    both_paths_make_the_same_batches();
    a_batch_of_many_records_ends_and_the_next_goes_on();
    a_huge_rep_is_given_out_over_several_batches();
    a_rep_without_end_gives_batches_without_end();
    many_xsaves_fill_several_batches();
    damaged_records_are_refused_with_a_sentence();
    a_zero_header_ends_the_data();
    data_may_be_cut_off_anywhere();
    changed_bytes_do_no_harm();
    random_bytes_do_no_harm();
    a_reset_forgets();
    free(batch);
    free(other);
    return test_end("decode");
}
