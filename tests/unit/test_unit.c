/* SPDX-License-Identifier: MIT */
/* A sound unit table has no fault, and each thing that could lead a reader astray is one. */
#include "translate/unit.h"
#include "wire/wire.h"
#include "test.h"

#include <string.h>

/* Two units: a mov and a rep movs with a side exit between them; a gather and a system call. */
static void make_table(struct unit_table *t)
{
    *t = (struct unit_table){0};
    static const u8 code[] = {0x48, 0x8b, 0x03, 0xf3, 0xa4, 0x90, 0x90, 0x90, 0x0f, 0x05};
    memcpy(vec_grow(&t->code, sizeof code), code, sizeof code);
    struct ref blank = {.a = TERM_NONE,
                        .b = TERM_NONE,
                        .seg = TERM_NONE,
                        .x = TERM_NONE,
                        .y = TERM_NONE,
                        .z = TERM_NONE,
                        .size = 1};
    struct ref load = blank, from = blank, to = blank, gather = blank;
    load.a = 0, load.size = 8;
    from.insn = to.insn = 1, from.op = to.op = REF_REP, to.kind = REF_STORE;
    from.a = 2, from.x = 1, from.z = 4, to.a = 3, to.x = 1, to.z = 5, from.flags = REF_PAIRED;
    gather.op = REF_INDEX_V, gather.size = 4, gather.width = 8, gather.count = 4;
    gather.a = 0, gather.x = 1, gather.y = 3, gather.shift = 2;

    vec_push(&t->units, ((struct unit){.pc = 0x1000, .n_insns = 2, .n_refs = 3, .n_exits = 2}));
    vec_push(&t->insns, ((struct unit_insn){.pc = 0x1000, .len = 3, .refs = 1}));
    vec_push(&t->insns, ((struct unit_insn){.pc = 0x1003, .len = 2, .refs = 2, .bytes = 3}));
    vec_push(&t->refs, load);
    vec_push(&t->refs, from);
    vec_push(&t->refs, to);
    vec_push(&t->exits,
             ((struct unit_exit){
                 .insns = 1, .refs = 1, .slots = 1, .rsp_term = TERM_RSP, .target = 0x1003}));
    vec_push(&t->exits,
             ((struct unit_exit){
                 .insns = 2, .refs = 3, .slots = 6, .rsp_term = TERM_RSP, .target = 0x1005}));

    vec_push(&t->units, ((struct unit){.pc = 0x1005,
                                       .insn0 = 2,
                                       .n_insns = 2,
                                       .ref0 = 3,
                                       .n_refs = 1,
                                       .exit0 = 2,
                                       .n_exits = 2}));
    vec_push(&t->insns, ((struct unit_insn){.pc = 0x1005, .len = 3, .refs = 1, .bytes = 5}));
    vec_push(&t->insns, ((struct unit_insn){.pc = 0x1008, .len = 2, .bytes = 8}));
    vec_push(&t->refs, gather);
    vec_push(
        &t->exits,
        ((struct unit_exit){
            .unit = 1, .insns = 2, .refs = 1, .slots = 8, .kind = EXIT_SYSCALL, .rsp_term = 7}));
    vec_push(&t->exits,
             ((struct unit_exit){
                 .unit = 1, .kind = EXIT_LANDING, .rsp_term = TERM_NONE, .target = 0x1008}));
}

/* Change one thing in a fresh table and look for the words in what is found. */
#define FAULT(change, words)                                                                      \
    do {                                                                                          \
        struct unit_table t;                                                                      \
        make_table(&t);                                                                           \
        change;                                                                                   \
        const char *fault = unit_table_fault(&t);                                                 \
        CHECK_CASE(fault &&strstr(fault, words), "%s gives %s", #change, fault ? fault : "none"); \
        unit_table_fini(&t);                                                                      \
    } while (0)

static void a_sound_table_has_no_fault(void)
{
    struct unit_table t;
    make_table(&t);
    const char *fault = unit_table_fault(&t);
    CHECK_CASE(fault == NULL, "%s", fault);
    unit_table_fini(&t);
    CHECK(t.units.v == NULL && t.units.n == 0);
    CHECK(unit_table_fault(&t) == NULL); /* empty is sound too */
}

static void ranges(void)
{
    FAULT(t.units.v[1].insn0 = 1, "overlaps");
    FAULT(t.units.v[1].ref0 = 2, "overlaps");
    FAULT(t.units.v[1].exit0 = 1, "overlaps");
    FAULT(t.units.v[1].n_insns = 3, "beyond the table");
    FAULT(t.units.v[1].n_refs = 2, "beyond the table");
    FAULT(t.units.v[1].n_exits = 3, "beyond the table");
    FAULT(t.units.v[1].insn0 = 0xffffffff, "beyond the table");
    FAULT(t.units.v[0].n_insns = 0, "impossible number");
    FAULT(t.units.v[0].pc = 0x1001, "does not begin");
    FAULT(t.units.v[0].n_exits = 1, "belongs to no unit");
    FAULT(t.insns.n = 1, "more units than instructions");
}

static void instructions(void)
{
    FAULT(t.insns.v[0].len = 0, "impossible length");
    FAULT(t.insns.v[0].len = 16, "impossible length");
    FAULT(t.insns.v[3].bytes = 9, "outside the table");
    FAULT(t.insns.v[3].bytes = 0xffffffff, "outside the table");
    FAULT(t.insns.v[0].refs = 2, "another instruction");
    FAULT(t.insns.v[1].refs = 3, "more references than the unit");
    FAULT(t.insns.v[2].refs = 0, "belongs to no instruction");
    FAULT(t.refs.v[0].insn = 1, "another instruction");
    FAULT(t.insns.v[0].watch = WATCH_LIMIT, "impossible way");
    FAULT((t.insns.v[0].watch = WATCH_result, t.insns.v[0].slot = 239), "impossible way");
    FAULT(t.insns.v[0].watch = WATCH_result, "fewer slots"); /* its exit has one */
}

static void references(void)
{
    FAULT(t.refs.v[0].kind = 3, "no known kind");
    FAULT(t.refs.v[0].op = REF_OP_LIMIT, "no known kind");
    FAULT(t.refs.v[0].flags = 4, "unknown flags");
    FAULT(t.refs.v[0].size = 0, "impossible size");
    FAULT(t.refs.v[0].size = 4097, "impossible size");
    FAULT(t.refs.v[0].a = 245, "impossible term");
    FAULT(t.refs.v[0].b = 254, "impossible term");
    FAULT(t.refs.v[0].shift = 64, "impossible term");
    FAULT(t.refs.v[0].seg = 0, "impossible segment");
    FAULT(t.refs.v[0].x = TERM_RSP, "impossible slot");
    FAULT(t.refs.v[0].flags = REF_PAIRED, "paired with nothing");
    FAULT(t.refs.v[1].op = REF_PLAIN, "paired with nothing");
    FAULT(t.refs.v[2].op = REF_PLAIN, "paired with nothing");
    FAULT(t.refs.v[2].flags = REF_PAIRED, "paired with nothing");
    FAULT((t.refs.v[0].op = REF_LINE, t.refs.v[0].size = 6), "power of two");
    FAULT(t.refs.v[1].x = TERM_NONE, "lacks a slot");
    FAULT(t.refs.v[2].z = TERM_NONE, "lacks a slot");
    for (int op = REF_BIT; op < REF_LINE; op++)
        FAULT(t.refs.v[0].op = (u8)op, "");
}

#define LOAD t.refs.v[0]
static void a_value_in_a_slot_is_sound(void)
{
    struct unit_table t;
    make_table(&t);
    LOAD.before = 1; /* its exit has one slot */
    CHECK(unit_table_fault(&t) == NULL);
    LOAD.before = VALUE_UNKNOWN;
    CHECK(unit_table_fault(&t) == NULL);
    unit_table_fini(&t);
}

static void values(void)
{
    FAULT(t.refs.v[1].width = 2, "impossible elements"); /* a rep */
    FAULT((t.refs.v[1].width = 1, t.refs.v[1].size = 3), "impossible elements");
    FAULT((t.refs.v[1].width = 1, t.refs.v[1].before = 1), "fewer slots"); /* it has less than eight */
    FAULT(LOAD.before = 2, "fewer slots");
    FAULT(LOAD.before = 240, "fewer slots");
    FAULT(LOAD.before = 241, "impossible value");
    FAULT(LOAD.before = 253, "impossible value");
    FAULT((LOAD.before = 1, LOAD.size = 16), "fewer slots");
    FAULT((LOAD.before = VALUE_NEXT, LOAD.size = 4), "impossible value");
    FAULT(LOAD.after = 1, "impossible value");
    FAULT(LOAD.after = VALUE_UNKNOWN, "impossible value");
    FAULT((LOAD.before = 1, LOAD.kind = REF_STORE), "impossible value");
}

static void masked_references(void)
{
    FAULT(t.refs.v[3].count = 0, "number of elements");
    FAULT(t.refs.v[3].count = 65, "number of elements");
    FAULT(t.refs.v[3].count = 17, "larger than a vector");
    FAULT(t.refs.v[3].width = 3, "impossible elements");
    FAULT(t.refs.v[3].x = TERM_NONE, "lacks a slot");
    FAULT(t.refs.v[3].y = TERM_NONE, "lacks a slot");
    FAULT(t.refs.v[3].y = 239, "impossible slot");
    FAULT(t.refs.v[3].y = 5, "fewer slots");
    FAULT(t.refs.v[3].x = 7, "fewer slots");
}

static void exits(void)
{
    FAULT(t.exits.v[0].unit = 1, "another unit");
    FAULT(t.exits.v[0].unit = 99, "another unit");
    FAULT(t.exits.v[1].insns = 3, "outside its unit");
    FAULT(t.exits.v[1].refs = 2, "outside its unit");
    FAULT(t.exits.v[0].insns = 2, "outside its unit");
    FAULT(t.exits.v[0].kind = EXIT_KIND_LIMIT, "no known kind");
    FAULT(t.exits.v[0].slots = 0, "fewer slots");
    FAULT(t.exits.v[1].slots = 5, "fewer slots");
    FAULT(t.exits.v[1].slots = 250, "fewer slots");
    FAULT(t.exits.v[0].rsp_term = 1, "no stack pointer");
    FAULT(t.exits.v[0].rsp_term = 249, "no stack pointer");
}

/* No single byte of a table can make the check itself go astray: the sanitizers watch. */
static void any_byte_may_be_anything(void)
{
    struct unit_table t;
    make_table(&t);
    struct {
        u8 *v;
        size_t n;
    } part[] = {{(u8 *)t.units.v, t.units.n * sizeof *t.units.v},
                {(u8 *)t.insns.v, t.insns.n * sizeof *t.insns.v},
                {(u8 *)t.refs.v, t.refs.n * sizeof *t.refs.v},
                {(u8 *)t.exits.v, t.exits.n * sizeof *t.exits.v}};
    for (size_t p = 0; p < ARRAY_LEN(part); p++)
        for (size_t i = 0; i < part[p].n; i++)
            for (int bit = 0; bit < 9; bit++) {
                u8 x = (u8)(bit < 8 ? 1 << bit : 0xff);
                part[p].v[i] ^= x;
                unit_table_fault(&t);
                part[p].v[i] ^= x;
            }
    CHECK(unit_table_fault(&t) == NULL);
    unit_table_fini(&t);
}

int main(void)
{
    a_sound_table_has_no_fault();
    ranges();
    instructions();
    references();
    a_value_in_a_slot_is_sound();
    values();
    masked_references();
    exits();
    any_byte_may_be_anything();
    return test_end("unit");
}
