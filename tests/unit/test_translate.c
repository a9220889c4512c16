/* SPDX-License-Identifier: MIT */
/* What the translator says of code in its table, what it refuses, and how it copies instructions. */
#include "translated.h"

/* -- The table -------------------------------------------------------------------------------- */

#define CHECK_REF(r, k, term, d, n)                                                                           \
    CHECK_CASE((r)->kind == (k) && (r)->op == REF_PLAIN && (r)->a == (term) && (r)->b == TERM_NONE &&         \
                   (r)->disp == (s64)(d) && (r)->size == (n) && (r)->seg == TERM_NONE,                        \
               "kind %u a %u b %u disp %ld size %u", (r)->kind, (r)->a, (r)->b, (long)(r)->disp, (r)->size)

CODE(pushes, "push rbx; push rcx; pop rax; pop rdx; ret")
static void push_and_pop_cost_no_slot(void)
{
    struct bench b;
    TRANSLATE(&b, pushes, NEAR, EVENTS_memory);
    const struct unit *u = unit_at(&b, NEAR);
    CHECK(b.entry && u && u->n_insns == 5 && u->n_refs == 5 && u->n_exits == 1);
    CHECK_REF(ref_of(&b, u, 0), REF_STORE, TERM_RSP, -8, 8);
    CHECK_REF(ref_of(&b, u, 1), REF_STORE, TERM_RSP, -16, 8);
    CHECK_REF(ref_of(&b, u, 2), REF_LOAD, TERM_RSP, -16, 8);
    CHECK_REF(ref_of(&b, u, 3), REF_LOAD, TERM_RSP, -8, 8);
    CHECK_REF(ref_of(&b, u, 4), REF_LOAD, TERM_RSP, 0, 8);
    const struct unit_exit *x = exit_of(&b, u, 0);
    CHECK(x->slots == 0 && x->insns == 5 && x->refs == 5 && x->kind == EXIT_INDIRECT && x->target == 0);
    CHECK(x->rsp_term == TERM_RSP && x->rsp_disp == 8);
    CHECK_SOUND(&b);
    bench_close(&b);
}

static void members_of_one_object_cost_one_slot(void)
{
    struct bench b;
    TRANSLATE(&b, members, NEAR, EVENTS_memory);
    const struct unit *u = unit_at(&b, NEAR);
    CHECK(u && u->n_refs == 5 && exit_of(&b, u, 0)->slots == 1);
    CHECK_REF(ref_of(&b, u, 0), REF_LOAD, 0, 0, 8);
    CHECK_REF(ref_of(&b, u, 1), REF_LOAD, 0, 8, 4);
    CHECK_REF(ref_of(&b, u, 2), REF_STORE, 0, 16, 1);
    CHECK_REF(ref_of(&b, u, 3), REF_MODIFY, 0, -2, 2);
    for (u16 i = 0; i < 5; i++)
        CHECK(ref_of(&b, u, i)->insn == i);
    CHECK_SOUND(&b);
    bench_close(&b);
}

CODE(globals, "mov eax, [rip + 0x100]; mov [rip - 0x50], rcx; ret")
static void rip_relative_operands_cost_no_slot(void)
{
    struct bench b;
    TRANSLATE(&b, globals, NEAR, EVENTS_memory);
    const struct unit *u = unit_at(&b, NEAR);
    CHECK(u && exit_of(&b, u, 0)->slots == 0);
    CHECK_REF(ref_of(&b, u, 0), REF_LOAD, TERM_NONE, NEAR + 6 + 0x100, 4);
    CHECK_REF(ref_of(&b, u, 1), REF_STORE, TERM_NONE, NEAR + 13 - 0x50, 8);
    bench_close(&b);
}

CODE(list, "mov rdi, [rdi + 8]; mov rdi, [rdi + 8]; mov rax, [rdi]; ret")
static void a_load_makes_its_register_unknown(void)
{
    struct bench b;
    TRANSLATE(&b, list, NEAR, EVENTS_memory);
    const struct unit *u = unit_at(&b, NEAR);
    CHECK(u && exit_of(&b, u, 0)->slots == 3);
    CHECK_REF(ref_of(&b, u, 0), REF_LOAD, 0, 8, 8);
    CHECK_REF(ref_of(&b, u, 1), REF_LOAD, 1, 8, 8);
    CHECK_REF(ref_of(&b, u, 2), REF_LOAD, 2, 0, 8);
    bench_close(&b);
}

static void lea_add_and_mov_keep_a_register_known(void)
{
    struct bench b;
    TRANSLATE(&b, steps, NEAR, EVENTS_memory);
    const struct unit *u = unit_at(&b, NEAR);
    CHECK(u && exit_of(&b, u, 0)->slots == 1);
    CHECK_REF(ref_of(&b, u, 1), REF_LOAD, 0, 8 + 16 - 4 + 1, 4);
    CHECK_REF(ref_of(&b, u, 2), REF_LOAD, 0, 8 + 16 - 1, 4);
    const struct ref *r = ref_of(&b, u, 3);
    CHECK(r->a == 0 && r->b == 0 && r->shift == 2 && r->disp == 23 * 4 + 1 + 2);
    bench_close(&b);
}

CODE(frame, "push rbp; mov rbp, rsp; sub rsp, 32; mov [rbp - 8], rax; mov [rsp + 4], eax; leave; ret")
static void leave_after_mov_rbp_rsp_costs_no_slot(void)
{
    struct bench b;
    TRANSLATE(&b, frame, NEAR, EVENTS_memory);
    const struct unit *u = unit_at(&b, NEAR);
    const struct unit_exit *x = exit_of(&b, u, 0);
    CHECK(x->slots == 0 && x->rsp_term == TERM_RSP && x->rsp_disp == 8);
    CHECK_REF(ref_of(&b, u, 1), REF_STORE, TERM_RSP, -16, 8);
    CHECK_REF(ref_of(&b, u, 2), REF_STORE, TERM_RSP, -36, 4);
    CHECK_REF(ref_of(&b, u, 3), REF_LOAD, TERM_RSP, -8, 8);
    CHECK_REF(ref_of(&b, u, 4), REF_LOAD, TERM_RSP, 0, 8);
    bench_close(&b);
}

CODE(cleared, "xor eax, eax; mov rcx, [rdi + rax * 8 + 3]; sub r9, r9; mov cl, [r9 + rdi]; mov edx, 7\n"
              "mov cl, [rdx + 1]; ret")
static void cleared_registers_are_constants(void)
{
    struct bench b;
    TRANSLATE(&b, cleared, NEAR, EVENTS_memory);
    const struct unit *u = unit_at(&b, NEAR);
    CHECK(exit_of(&b, u, 0)->slots == 1);
    CHECK_REF(ref_of(&b, u, 0), REF_LOAD, 0, 3, 8);
    CHECK_REF(ref_of(&b, u, 1), REF_LOAD, 0, 0, 1);
    CHECK_REF(ref_of(&b, u, 2), REF_LOAD, TERM_NONE, 8, 1);
    bench_close(&b);
}

CODE(realigned, "and rsp, -16; push rax; pop rcx; jmp 1f; 1: sub rsp, 8; ret")
static void rsp_is_settled_after_it_was_realigned(void)
{
    struct bench b;
    TRANSLATE(&b, realigned, NEAR, EVENTS_memory);
    const struct unit *u = unit_at(&b, NEAR);
    const struct unit_exit *x = exit_of(&b, u, 0);
    CHECK(u->n_insns == 6 && x->slots == 1 && x->rsp_term == 0 && x->rsp_disp == 0);
    CHECK_REF(ref_of(&b, u, 0), REF_STORE, 0, -8, 8);
    CHECK_REF(ref_of(&b, u, 2), REF_LOAD, 0, -8, 8);
    bench_close(&b);
}

CODE(left_unknown, "and rsp, -32; jz 2f; nop; 2: nop")
CODE(left_at_end, "and rsp, -32; nop")
static void rsp_is_settled_wherever_a_unit_can_be_left(void)
{
    struct bench b;
    for (u8 sum = 0; sum < 2; sum++) {
        if (sum)
            TRANSLATE(&b, left_as_sum, NEAR, EVENTS_memory);
        else
            TRANSLATE(&b, left_unknown, NEAR, EVENTS_memory);
        const struct unit *u = unit_at(&b, NEAR);
        CHECK(u->n_exits == 2);
        for (u32 k = 0; k < u->n_exits; k++)
            CHECK(exit_of(&b, u, k)->slots == 1 + sum && exit_of(&b, u, k)->rsp_term == sum);
        bench_close(&b);
    }
    TRANSLATE(&b, left_at_end, NEAR, EVENTS_memory);
    CHECK(b.table->exits.v[0].slots == 1 && b.table->exits.v[0].rsp_term == 0);
    bench_close(&b);
}

CODE(terms, "mov r8, [rdi]; mov r8, [rsi]; mov r8, [rdx]; lea rax, [rdi + rsi * 4]; mov cl, [rax + rdx * 2]; ret")
static void an_address_of_too_many_terms_costs_another_slot(void)
{
    struct bench b;
    TRANSLATE(&b, terms, NEAR, EVENTS_memory);
    const struct unit *u = unit_at(&b, NEAR);
    const struct ref *r = ref_of(&b, u, 3);
    CHECK(exit_of(&b, u, 0)->slots == 4);
    CHECK(r->a == 3 && r->b == 2 && r->shift == 1 && r->disp == 0);
    bench_close(&b);
}

static void each_exit_is_a_prefix_of_the_path(void)
{
    struct bench b;
    TRANSLATE(&b, branches, NEAR, EVENTS_memory);
    const struct unit *u = unit_at(&b, NEAR);
    CHECK(u->n_insns == 6 && u->n_exits == 3);
    const struct unit_exit *x = exit_of(&b, u, 0);
    CHECK(x->insns == 2 && x->refs == 1 && x->slots == 0 && x->rsp_disp == -8 && x->target == NEAR + 6);
    x = exit_of(&b, u, 1);
    CHECK(x->insns == 6 && x->refs == 3 && x->slots == 1 && x->rsp_disp == 0 && x->target == NEAR + 6);
    x = exit_of(&b, u, 2);
    CHECK(x->insns == 6 && x->refs == 3 && x->slots == 1 && x->target == NEAR + 12);
    for (u32 k = 0; k < 3; k++)
        CHECK(exit_of(&b, u, k)->kind == EXIT_DIRECT && !exit_of(&b, u, k)->is_call);
    CHECK_SOUND(&b);
    bench_close(&b);
}

static void the_table_keeps_the_path_and_its_bytes(void)
{
    struct bench b;
    TRANSLATE(&b, branches, NEAR, EVENTS_memory);
    const struct unit *u = unit_at(&b, NEAR);
    static const u8 offset[] = {0, 1, 3, 4, 8, 10};
    for (u32 i = 0; i < u->n_insns; i++) {
        const struct unit_insn *in = &b.table->insns.v[u->insn0 + i];
        CHECK(in->pc == NEAR + offset[i]);
        CHECK(!memcmp(b.table->code.v + in->bytes, b.code + offset[i], in->len));
    }
    bench_close(&b);
}

static void calls_say_what_they_push_and_where_they_come_back(void)
{
    struct bench b;
    TRANSLATE(&b, calls, NEAR, EVENTS_memory);
    const struct unit *u = unit_at(&b, NEAR);
    const struct unit_exit *x = exit_of(&b, u, 0), *landing = exit_of(&b, u, 1);
    CHECK(u->n_insns == 2 && u->n_exits == 2);
    CHECK(x->kind == EXIT_DIRECT && x->is_call && x->target == NEAR + 7 && x->rsp_disp == -16 && x->refs == 2);
    CHECK_REF(ref_of(&b, u, 1), REF_STORE, TERM_RSP, -16, 8);
    CHECK(landing->kind == EXIT_LANDING && landing->target == NEAR + 6 && !landing->insns && !landing->slots);
    CHECK(ask(&b, NEAR + 7, BY_LINK) != 0);
    u = unit_at(&b, NEAR + 7);
    x = exit_of(&b, u, 0);
    CHECK(x->kind == EXIT_INDIRECT && x->is_call && x->target == 0 && x->rsp_disp == -8 && x->slots == 1);
    CHECK_REF(ref_of(&b, u, 0), REF_LOAD, 0, 8, 8);
    CHECK_REF(ref_of(&b, u, 1), REF_STORE, TERM_RSP, -8, 8);
    CHECK(ask(&b, NEAR + 11, BY_LINK) != 0);
    CHECK(last_exit(&b, unit_at(&b, NEAR + 11))->rsp_disp == 24);
    CHECK_SOUND(&b);
    bench_close(&b);
}

static void system_calls_and_segment_changes_end_a_unit(void)
{
    for (enum events_level level = EVENTS_none; level <= EVENTS_values; level++) {
        struct bench b;
        TRANSLATE(&b, kernel, NEAR, level);
        const struct unit *u = unit_at(&b, NEAR);
        CHECK(u->n_insns == 2 && exit_of(&b, u, 0)->kind == EXIT_SYSCALL && exit_of(&b, u, 0)->target == NEAR + 7);
        CHECK(ask(&b, NEAR + 7, BY_LINK) != 0);
        u = unit_at(&b, NEAR + 7);
        CHECK(u->n_insns == 2 && exit_of(&b, u, 0)->kind == EXIT_STATE && exit_of(&b, u, 0)->target == NEAR + 10);
        CHECK(ask(&b, NEAR + 10, BY_LINK) != 0);
        u = unit_at(&b, NEAR + 10);
        CHECK(u->n_insns == 2 && exit_of(&b, u, 0)->kind == EXIT_STATE && exit_of(&b, u, 0)->target == NEAR + 16);
        CHECK_SOUND(&b);
        bench_close(&b);
    }
}

static void fewer_events_mean_fewer_slots(void)
{
    struct bench b;
    TRANSLATE(&b, members, NEAR, EVENTS_control);
    const struct unit *u = unit_at(&b, NEAR);
    CHECK(u->n_insns == 5 && u->n_refs == 0 && exit_of(&b, u, 0)->slots == 0);
    CHECK(exit_of(&b, u, 0)->rsp_term == TERM_NONE);
    bench_close(&b);
}

static void special_forms_have_their_slots(void)
{
    static const u8 ops[] = {REF_REP, REF_REP, REF_REP, REF_BIT, REF_XLAT, REF_MASK_V, REF_INDEX_V, REF_MASK_K,
                             REF_INDEX_K, REF_XSAVE, REF_XRSTOR, REF_LINE, REF_MASK_V, REF_PACK_K, REF_ANY_K};
    struct bench b;
    u32 k = 0;
    OPEN(&b, special, NEAR, .events = EVENTS_memory);
    CHECK(ask(&b, NEAR, BY_LINK) != 0);
    while (translate_ahead(b.t))
        ;
    for (size_t i = 0; i < b.table->refs.n && k < ARRAY_LEN(ops); i++, k++)
        CHECK_CASE(b.table->refs.v[i].op == ops[k], "reference %u has op %u", k, b.table->refs.v[i].op);
    CHECK(b.table->refs.v[0].flags & REF_PAIRED && b.table->refs.v[0].y == TERM_NONE);
    CHECK(b.table->refs.v[2].y != TERM_NONE);
    CHECK(b.table->refs.n == ARRAY_LEN(ops) + 2 + 4 + 3);
    CHECK_SOUND(&b);
    bench_close(&b);
}

static void a_unit_is_as_short_as_it_is_told(void)
{
    struct bench b;
    TRANSLATE(&b, steps, NEAR, EVENTS_memory, .unit_insns = 1);
    CHECK(b.table->units.n > 1);
    for (size_t i = 0; i < b.table->units.n; i++)
        CHECK(b.table->units.v[i].n_insns == 1);
    CHECK_SOUND(&b);
    bench_close(&b);
    TRANSLATE(&b, branches, NEAR, EVENTS_memory, .unit_blocks = 1);
    CHECK(unit_at(&b, NEAR)->n_insns == 2 && unit_at(&b, NEAR)->n_exits == 2);
    CHECK_SOUND(&b);
    bench_close(&b);
}

static void a_long_path_is_cut(void)
{
    struct bench b;
    OPEN(&b, straight, NEAR, .events = EVENTS_memory);
    CHECK(ask(&b, NEAR, BY_LINK) != 0);
    while (translate_ahead(b.t))
        ;
    u64 pc = NEAR, insns = 0;
    for (const struct unit *u; (u = unit_at(&b, pc)); insns += u->n_insns, pc = last_exit(&b, u)->target)
        CHECK(u->n_insns <= 64);
    CHECK(insns == 501);
    CHECK_SOUND(&b);
    bench_close(&b);
}

static void a_unit_has_no_more_exits_than_room(void)
{
    struct bench b;
    TRANSLATE(&b, many_branches, NEAR, EVENTS_memory, .unit_blocks = 20);
    for (size_t i = 0; i < b.table->units.n; i++)
        CHECK(b.table->units.v[i].n_exits <= UNIT_EXITS);
    CHECK_SOUND(&b);
    bench_close(&b);
}

CODE(gathers, ".rept 60; vpgatherqq zmm1{k2}, [rbx + zmm3]; mov rbx, [rbx]; .endr; ret")
static void a_unit_has_no_more_slots_than_a_record(void)
{
    struct bench b;
    OPEN(&b, gathers, NEAR, .events = EVENTS_memory);
    CHECK(ask(&b, NEAR, BY_LINK) != 0);
    while (translate_ahead(b.t))
        ;
    CHECK(b.table->units.n > 5 && b.table->refs.n == 121);
    CHECK_SOUND(&b);
    bench_close(&b);
}

CODE(endless, "1: inc eax; nop; jmp 1b")
static void a_path_ends_where_it_meets_itself(void)
{
    struct bench b;
    TRANSLATE(&b, endless, NEAR, EVENTS_memory);
    const struct unit *u = unit_at(&b, NEAR);
    CHECK(b.table->units.n == 1 && u->n_insns == 3 && u->n_exits == 1 && exit_of(&b, u, 0)->target == NEAR);
    CHECK(ask(&b, NEAR + 2, BY_LINK) != 0 && unit_at(&b, NEAR + 2)->n_insns == 3);
    CHECK_SOUND(&b);
    bench_close(&b);
}

/* -- What is refused -------------------------------------------------------------------------- */

static const struct {
    const char *name;
    u8 bytes[8];
    u8 size;
} refused[] = {
    {"int 0x80", {0xcd, 0x80}, 2},
    {"jmp far [rax]", {0xff, 0x28}, 2},
    {"call far [rax]", {0xff, 0x18}, 2},
    {"retf", {0xcb}, 1},
    {"retf 8", {0xca, 8, 0}, 3},
    {"iretq", {0x48, 0xcf}, 2},
    {"iretd", {0xcf}, 1},
    {"sysenter", {0x0f, 0x34}, 2},
    {"xbegin", {0xc7, 0xf8, 0, 0, 0, 0}, 6},
    {"bytes of no instruction", {0x06}, 1},
    {"bytes of half an instruction", {0x48, 0x8b}, 2},
};

static void what_cannot_be_run_is_refused_with_a_sentence(void)
{
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        for (enum events_level level = EVENTS_none; level <= EVENTS_values; level++) {
            struct bench b;
            bench_open(&b, refused[i].bytes, refused[i].size, NEAR, (struct translate_config){.events = level});
            for (enum arrival by = BY_LINK; by <= BY_RETURN; by++) {
                CHECK_CASE(ask(&b, NEAR, by) == 0, "%s", refused[i].name);
                CHECK_CASE(strstr(b.err.text, "0x5555"), "%s: %s", refused[i].name, b.err.text);
            }
            CHECK(b.table->units.n == 0 && b.t->hot.p == b.hot && b.t->warm.p == b.warm && b.t->cold.p == b.cold);
            CHECK(place_of(&b, NEAR).unit == 0 && place_of(&b, NEAR).door == 0);
            bench_close(&b);
        }
}

static void a_unit_ends_before_what_is_refused(void)
{
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        for (enum events_level level = EVENTS_none; level <= EVENTS_values; level++) {
            struct bench b;
            u8 code[16] = {0x90, 0x53}; /* nop; push rbx */
            memcpy(code + 2, refused[i].bytes, refused[i].size);
            bench_open(&b, code, 2u + refused[i].size, NEAR, (struct translate_config){.events = level});
            CHECK_CASE(ask(&b, NEAR, BY_LINK) != 0, "%s", refused[i].name);
            const struct unit *u = unit_at(&b, NEAR);
            CHECK(u->n_insns == 2 && u->n_exits == 1 && exit_of(&b, u, 0)->target == NEAR + 2);
            CHECK(b.table->units.n == 1);
            CHECK_CASE(translate_exit(b.t, FIRST_EXIT_ID, &b.err).v == 0, "%s", refused[i].name);
            CHECK(asked_target(&b, led_to(&b, 0)) == NEAR + 2);
            CHECK_SOUND(&b);
            bench_close(&b);
        }
}

/* Only its accesses are not known: the refusal comes while the unit is being emitted. */
CODE(tiles, "push rax; jz 1f; push rcx; 1: .byte 0xc4, 0xe2, 0x7b, 0x4b, 0x04, 0x18; ret")
static void a_unit_ends_before_accesses_that_are_not_known(void)
{
    struct bench b;
    TRANSLATE(&b, tiles, NEAR, EVENTS_memory);
    const struct unit *u = unit_at(&b, NEAR);
    CHECK(u && u->n_insns == 3 && u->n_refs == 2 && u->n_exits == 2 && last_exit(&b, u)->target == NEAR + 4);
    CHECK(ask(&b, NEAR + 4, BY_JUMP) == 0 && strstr(b.err.text, "tileloadd"));
    CHECK_SOUND(&b);
    bench_close(&b);
    TRANSLATE(&b, tiles, NEAR, EVENTS_control);
    CHECK(unit_at(&b, NEAR)->n_insns == 5);
    bench_close(&b);
}

CODE(traps, "nop; int3; nop; ud2")
static void traps_run_at_the_end_of_their_own_unit(void)
{
    struct bench b;
    TRANSLATE(&b, traps, NEAR, EVENTS_memory);
    CHECK(unit_at(&b, NEAR)->n_insns == 1);
    CHECK(ask(&b, NEAR + 1, BY_LINK) != 0);
    const struct unit *u = unit_at(&b, NEAR + 1);
    CHECK(u->n_insns == 1 && exit_of(&b, u, 0)->target == NEAR + 2);
    CHECK(count(&b, ZYDIS_MNEMONIC_INT3) == 1);
    CHECK_SOUND(&b);
    bench_close(&b);
}

static void exits_that_do_not_exist_are_refused(void)
{
    struct bench b;
    TRANSLATE(&b, pushes, NEAR, EVENTS_memory);
    u32 ids[] = {0, 1, FIRST_EXIT_ID - 1, FIRST_EXIT_ID + (u32)b.table->exits.n, EXIT_ID_LIMIT, 0x80000000, 0xffffffff};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        b.err.text[0] = 0;
        CHECK_CASE(translate_exit(b.t, ids[i], &b.err).v == 0, "%u", ids[i]);
        CHECK_CASE(strstr(b.err.text, "does not exist"), "%u: %s", ids[i], b.err.text);
    }
    /* A return leads nowhere that an exit could say. */
    CHECK(translate_exit(b.t, FIRST_EXIT_ID, &b.err).v == 0);
    CHECK(ask(&b, 0, BY_JUMP) == 0 && b.err.text[0]);
    bench_close(&b);
}

CODE(calls_zero, "push rax; call 0; ret")
CODE(jumps_zero, "jz 0; ret")
static void a_direct_branch_to_address_0_asks_like_any_other(void)
{
    for (int jumps = 0; jumps < 2; jumps++) {
        struct bench b;
        /* `call 0` was assembled relative to a section: say where it is instead. */
        u8 code[8];
        const u8 *from = jumps ? code_jumps_zero : code_calls_zero;
        size_t n = (size_t)(jumps ? code_jumps_zero_end - from : code_calls_zero_end - from);
        memcpy(code, from, n);
        s32 rel = -(s32)(LOW + n - 1);
        memcpy(code + n - 5, &rel, 4);
        bench_open(&b, code, n, LOW, (struct translate_config){.events = EVENTS_memory, .base = LOW_BASE});
        CHECK(ask(&b, LOW, BY_LINK) != 0);
        u32 site = b.t->links[0].site;
        CHECK(site != 0);
        CHECK_CASE(asked_exit(&b, led_to(&b, 0)) == FIRST_EXIT_ID, "exit leads to cache offset 0x%lx",
                   (unsigned long)(led_to(&b, 0) - cache_of(&b)));
        CHECK_SOUND(&b);
        bench_close(&b);
    }
}

/* -- Copies ----------------------------------------------------------------------------------- */

CODE(plain, "mov rax, [rdi]; add rax, 5; imul rcx, rax, 100; shld rax, rcx, 3; vpaddd ymm1, ymm2, [rsi]\n"
            "paddd xmm3, [rdx + rcx * 4 + 8]; cmovz eax, [rbx]; setc al; bswap eax; fld qword ptr [rdi]; ret")
static void instructions_are_copied_in_order(void)
{
    for (enum events_level level = EVENTS_none; level <= EVENTS_values; level++) {
        struct bench b;
        TRANSLATE(&b, plain, NEAR, level);
        const struct unit *u = unit_at(&b, NEAR);
        u64 at = b.entry;
        u32 i = 0;
        CHECK(u->n_insns == 11);
        for (struct piece p; i < u->n_insns && piece_at(&b, at, &p); at = behind(&p)) {
            const struct unit_insn *in = &b.table->insns.v[u->insn0 + i];
            const u8 *bytes = wire + WIRE_CACHE_OFF + (at - cache_of(&b));
            i += p.z.length == in->len && !memcmp(bytes, b.table->code.v + in->bytes, in->len);
        }
        CHECK_CASE(i == u->n_insns, "at level %d instruction %u is missing", level, i);
        bench_close(&b);
    }
}

CODE(near_data, "mov eax, [rip + 0x1000]; lea rcx, [rip - 0x2000]; cmp byte ptr [rip + 0x3000], 5\n"
                "mov dword ptr [rip + 0x4000], 0x12345678; movups xmm1, [rip + 0x5000]; vmovups ymm1, [rip + 0x6000]\n"
                "vaddpd zmm1, zmm2, [rip + 0x7000]; mov edx, fs:[rip + 0x8000]; shld [rip + 0x9000], ecx, 3\n"
                "imul eax, [rip + 0xa000], 1000; vpalignr xmm1, xmm2, [rip + 0xb000], 3; push [rip + 0xc000]\n"
                "pop [rip + 0xd000]; jmp [rip + 0xe000]")

/* The memory operands that the program's instructions name relative to rip, and what of them was found. */
struct rip_operands {
    struct {
        u64 address;
        ZydisRegister segment;
        bool found;
    } v[24];
    u32 n;
};

static void rip_operands_of(const struct bench *b, struct rip_operands *r)
{
    struct piece p = {.at = b->pc};
    r->n = 0;
    for (; decode_bytes(b->code + (p.at - b->pc), b->size - (p.at - b->pc), &p); p.at = behind(&p)) {
        const ZydisDecodedOperand *m = memory_of(&p);
        if (!m || m->mem.base != ZYDIS_REGISTER_RIP)
            continue;
        r->v[r->n].address = behind(&p) + (u64)m->mem.disp.value;
        r->v[r->n].segment = m->mem.segment;
        r->v[r->n++].found = false;
    }
}

static void note_address(struct rip_operands *r, u64 address, ZydisRegister segment)
{
    bool is_fs = segment == ZYDIS_REGISTER_FS, is_gs = segment == ZYDIS_REGISTER_GS;
    for (u32 i = 0; i < r->n; i++)
        if (r->v[i].address == address && (r->v[i].segment == ZYDIS_REGISTER_FS) == is_fs &&
            (r->v[i].segment == ZYDIS_REGISTER_GS) == is_gs)
            r->v[i].found = true;
}

static void rip_relative_operands_in_reach_stay_relative(void)
{
    for (enum events_level level = EVENTS_none; level <= EVENTS_memory; level++) {
        struct bench b;
        struct view v;
        struct rip_operands want;
        TRANSLATE(&b, near_data, NEAR, level);
        CHECK(unit_at(&b, NEAR)->n_insns == 14);
        rip_operands_of(&b, &want);
        CHECK(want.n == 14);
        view_open(&b, &v);
        CHECK_VIEW(&b, &v);
        for (size_t i = 0; i < v.at.n; i++) {
            struct piece p;
            CHECK(piece_at(&b, v.at.v[i], &p));
            const ZydisDecodedOperand *m = memory_of(&p);
            if (m && m->mem.base == ZYDIS_REGISTER_RIP)
                note_address(&want, behind(&p) + (u64)m->mem.disp.value, m->mem.segment);
        }
        for (u32 i = 0; i < want.n; i++)
            CHECK_CASE(want.v[i].found, "operand %u", i);
        view_close(&v);
        bench_close(&b);
    }
}

/* Walk by address with the constants that `mov reg, imm` left in registers; note what each access through one of them
 * touches, and each `mov reg, imm` that is an address itself (a lea). */
static void note_far_accesses(struct bench *b, struct rip_operands *want)
{
    struct view v;
    u64 value[16] = {0};
    view_open(b, &v);
    CHECK_VIEW(b, &v);
    for (size_t i = 0; i < v.at.n; i++) {
        struct piece p;
        CHECK(piece_at(b, v.at.v[i], &p));
        const ZydisDecodedOperand *m = memory_of(&p);
        if (m && m->mem.base == ZYDIS_REGISTER_RIP)
            CHECK(in_cache(b, behind(&p) + (u64)m->mem.disp.value));
        u8 base = m ? insn_gpr(m->mem.base) : REG_NONE;
        if (base != REG_NONE && m->mem.index == ZYDIS_REGISTER_NONE && value[base])
            note_address(want, value[base] + (u64)m->mem.disp.value, m->mem.segment);
        u8 to = p.op[0].type == ZYDIS_OPERAND_TYPE_REGISTER ? insn_gpr(p.op[0].reg.value) : REG_NONE;
        if (to == REG_NONE || !(p.op[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        bool is_imm = p.z.mnemonic == ZYDIS_MNEMONIC_MOV && is_direct(&(struct piece){.op[0] = p.op[1]});
        value[to] = is_imm ? p.op[1].imm.value.u : 0;
    }
    view_close(&v);
}

static void rip_relative_operands_out_of_reach_go_through_a_register(void)
{
    for (enum events_level level = EVENTS_none; level <= EVENTS_values; level++) {
        struct bench b;
        struct rip_operands want;
        TRANSLATE(&b, far_data, FAR, level);
        rip_operands_of(&b, &want);
        CHECK(want.n == 20);
        note_far_accesses(&b, &want);
        for (u32 i = 0; i < want.n; i++)
            CHECK_CASE(want.v[i].found, "level %d operand %u", level, i);
        bench_close(&b);
    }
}

CODE(far_lea, "lea rax, [rip + 0x1000]; lea ecx, [rip + 0x2000]; ret")
static void far_lea_gives_the_address(void)
{
    struct bench b;
    struct piece p;
    TRANSLATE(&b, far_lea, FAR, EVENTS_memory);
    u32 found = 0;
    for (u32 i = 0; find(&b, ZYDIS_MNEMONIC_MOV, i, &p); i++)
        if (is_direct(&(struct piece){.op[0] = p.op[1]}) && p.op[0].type == ZYDIS_OPERAND_TYPE_REGISTER)
            found |= (p.op[1].imm.value.u == FAR + 7 + 0x1000) | (p.op[1].imm.value.u == FAR + 13 + 0x2000) << 1;
    CHECK(found == 3);
    bench_close(&b);
}

CODE(jmp_fs, "jmp fs:[rip + 0x1000]")
CODE(call_fs, "call fs:[rip + 0x1000]")
CODE(jmp_gs, "jmp gs:[rip + 0x1000]")
CODE(call_gs, "call gs:[rip + 0x1000]")
static void far_branches_through_a_segment_keep_it(void)
{
    for (int k = 0; k < 4; k++)
        for (enum events_level level = EVENTS_none; level <= EVENTS_values; level++) {
            struct bench b;
            struct rip_operands want;
            if (k == 0)
                TRANSLATE(&b, jmp_fs, FAR, level);
            else if (k == 1)
                TRANSLATE(&b, call_fs, FAR, level);
            else if (k == 2)
                TRANSLATE(&b, jmp_gs, FAR, level);
            else
                TRANSLATE(&b, call_gs, FAR, level);
            CHECK(b.entry != 0);
            rip_operands_of(&b, &want);
            note_far_accesses(&b, &want);
            CHECK_CASE(want.n == 1 && want.v[0].found, "%s through %s at level %d", k & 1 ? "call" : "jmp",
                       k < 2 ? "fs" : "gs", level);
            bench_close(&b);
        }
}

/* -- The stack and r11 ------------------------------------------------------------------------ */

static bool writes_stack(const struct piece *p)
{
    for (int i = 0; i < p->z.operand_count; i++)
        if (p->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && p->op[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
            p->op[i].mem.base == ZYDIS_REGISTER_RSP && p->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            return true;
    return false;
}

/* Is it a copy of one of the program's instructions? */
static bool is_copy(const struct bench *b, const struct piece *p)
{
    const u8 *bytes = wire + WIRE_CACHE_OFF + (p->at - cache_of(b));
    for (size_t i = 0; i < b->table->insns.n; i++) {
        const struct unit_insn *in = &b->table->insns.v[i];
        if (in->len == p->z.length && !memcmp(bytes, b->table->code.v + in->bytes, in->len))
            return true;
    }
    return false;
}

static void nothing_is_pushed_but_what_the_program_pushes(void)
{
    for (int k = 0; k < 12; k++) {
        struct bench b;
        struct view v;
        u32 copies = 0, pushes = 0;
        OPEN(&b, stack, k & 1 ? FAR : NEAR, .events = k / 2 % 3, .strict = k >= 6);
        CHECK(ask(&b, b.pc, BY_LINK) != 0);
        while (translate_ahead(b.t))
            ;
        view_open(&b, &v);
        CHECK_VIEW(&b, &v);
        for (size_t i = 0; i < v.at.n; i++) {
            struct piece p;
            CHECK(piece_at(&b, v.at.v[i], &p));
            if (!writes_stack(&p))
                continue;
            bool is_call = p.z.mnemonic == ZYDIS_MNEMONIC_CALL && is_direct(&p);
            bool copy = p.z.mnemonic != ZYDIS_MNEMONIC_CALL && is_copy(&b, &p);
            copies += copy;
            CHECK_CASE(copy || pushes_return_address(&b, &p) || (is_call && !b.config.strict), "%s in case %d",
                       ZydisMnemonicGetString(p.z.mnemonic), k);
        }
        for (size_t i = 0; i < b.table->insns.n; i++) {
            struct piece app;
            const struct unit_insn *in = &b.table->insns.v[i];
            CHECK(decode_bytes(b.table->code.v + in->bytes, in->len, &app));
            pushes += writes_stack(&app) && app.z.mnemonic != ZYDIS_MNEMONIC_CALL;
        }
        CHECK(pushes >= 6 && copies == pushes);
        view_close(&v);
        bench_close(&b);
    }
}

CODE(ret_0, "ret 0")
CODE(ret_120, "ret 120")
CODE(ret_most, "ret 0xffff")
static void a_return_releases_as_much_as_it_says(void)
{
    const u8 *code[] = {code_ret_0, code_ret_120, code_ret_most};
    const s64 count_of[] = {0, 120, 0xffff};
    for (int i = 0; i < 3; i++) {
        struct bench b;
        struct piece p;
        bool found = false;
        bench_open(&b, code[i], 3, NEAR, (struct translate_config){.events = EVENTS_memory});
        CHECK(ask(&b, NEAR, BY_LINK) != 0);
        for (u32 k = 0; find(&b, ZYDIS_MNEMONIC_LEA, k, &p); k++)
            found |= is_reg(&p.op[0], ZYDIS_REGISTER_RSP) && p.op[1].mem.base == ZYDIS_REGISTER_RSP &&
                     p.op[1].mem.disp.value == 8 + count_of[i];
        CHECK(found && last_exit(&b, unit_at(&b, NEAR))->rsp_disp == 8 + count_of[i]);
        bench_close(&b);
    }
}

/* A strict translation never lets the program's stack see the cache: no call, no ret, no store of a landing. */
static void strict_code_has_no_calls_and_no_returns(void)
{
    struct bench b;
    OPEN(&b, stack, NEAR, .events = EVENTS_memory, .strict = true);
    CHECK(ask(&b, b.pc, BY_LINK) != 0);
    while (translate_ahead(b.t))
        ;
    CHECK(count(&b, ZYDIS_MNEMONIC_CALL) == 0 && count(&b, ZYDIS_MNEMONIC_RET) == 0);
    for (size_t i = 0; i < b.table->exits.n; i++)
        CHECK(b.table->exits.v[i].kind != EXIT_LANDING);
    bench_close(&b);
}

static bool names_r11(const struct piece *p)
{
    for (int i = 0; i < p->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &p->op[i];
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && insn_gpr(o->reg.value) == R11)
            return true;
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && (insn_gpr(o->mem.base) == R11 || insn_gpr(o->mem.index) == R11))
            return true;
    }
    return false;
}

static bool leads_to(const struct bench *b, const struct piece *p, u64 guest)
{
    struct piece next;
    return piece_at(b, behind(p), &next) && next.z.mnemonic == ZYDIS_MNEMONIC_JMP && is_direct(&next) &&
           branch_target(&next) == guest;
}

/* A store of a header that names an exit with as many slots, in the place it must have. */
static bool is_header(const struct bench *b, const struct piece *p)
{
    u32 header = (u32)p->op[1].imm.value.u, exit = (header >> RECORD_ID_SHIFT) - FIRST_EXIT_ID;
    if (p->z.mnemonic != ZYDIS_MNEMONIC_MOV || p->op[0].size != 32 || !is_direct(&(struct piece){.op[0] = p->op[1]}) ||
        exit >= b->table->exits.n)
        return false;
    s64 slots = b->table->exits.v[exit].slots, disp = p->op[0].mem.disp.value;
    return (header & RECORD_SLOT_LIMIT) == slots && (disp == 0 || disp == -(RECORD_SLOTS_AT + 8 * slots));
}

static bool is_slot(const struct piece *p)
{
    s64 at = p->op[0].mem.disp.value - RECORD_SLOTS_AT;
    return at >= 0 && at % 8 == 0 && at / 8 < TERM_SLOT_LIMIT && !(p->op[0].actions & ZYDIS_OPERAND_ACTION_MASK_READ) &&
           p->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER && insn_gpr(p->op[1].reg.value) != R11;
}

/* Is this one of the few things that are done with the record pointer? */
static bool is_record_pointer(const struct bench *b, const struct piece *p)
{
    const ZydisDecodedOperand *to = &p->op[0], *from = &p->op[1];
    if (to->type == ZYDIS_OPERAND_TYPE_MEMORY && to->mem.base == ZYDIS_REGISTER_R11)
        return to->mem.index == ZYDIS_REGISTER_NONE && (is_slot(p) || is_header(b, p));
    switch (p->z.mnemonic) {
    case ZYDIS_MNEMONIC_CMP:
        return is_reg(to, ZYDIS_REGISTER_R11) && from->type == ZYDIS_OPERAND_TYPE_MEMORY &&
               from->mem.segment == ZYDIS_REGISTER_GS && from->mem.disp.value == T_LIMIT;
    case ZYDIS_MNEMONIC_LEA:
        if (!is_reg(to, ZYDIS_REGISTER_R11))
            return false;
        if (from->mem.base == ZYDIS_REGISTER_RIP)
            return leads_to(b, p, b->config.guest.gate);
        return from->mem.base == ZYDIS_REGISTER_R11 && from->mem.disp.value % 8 == RECORD_SLOTS_AT;
    case ZYDIS_MNEMONIC_MOV:
        if (to->type == ZYDIS_OPERAND_TYPE_MEMORY)
            return is_reg(from, ZYDIS_REGISTER_R11) && to->mem.segment == ZYDIS_REGISTER_GS &&
                   to->mem.disp.value == T_PTR;
        return is_reg(to, ZYDIS_REGISTER_R11D) && is_direct(&(struct piece){.op[0] = *from}) &&
               (leads_to(b, p, b->config.guest.exit) || leads_to(b, p, b->config.guest.state));
    default:
        return false;
    }
}

static void r11_is_only_the_record_pointer(void)
{
    for (int k = 0; k < 8; k++) {
        struct bench b;
        struct view v;
        u32 uses = 0;
        OPEN(&b, r11, k & 1 ? FAR : NEAR, .events = k & 2 ? EVENTS_memory : EVENTS_control, .no_link = k & 4, .stay = true);
        u64 pc = b.pc;
        for (struct piece p; decode_bytes(b.code + (pc - b.pc), b.size - (pc - b.pc), &p); pc += p.z.length) {
            CHECK_CASE(ask(&b, pc, BY_LINK) != 0, "%s", b.err.text);
            while (translate_ahead(b.t))
                ;
        }
        CHECK(pc == b.pc + b.size);
        view_open(&b, &v);
        CHECK_VIEW(&b, &v);
        for (size_t i = 0; i < v.at.n; i++) {
            struct piece p;
            CHECK(piece_at(&b, v.at.v[i], &p));
            if (!names_r11(&p))
                continue;
            uses++;
            CHECK_CASE(is_record_pointer(&b, &p), "%s at cache offset 0x%lx in case %d",
                       ZydisMnemonicGetString(p.z.mnemonic), (unsigned long)(p.at - cache_of(&b)), k);
        }
        CHECK(uses > 40);
        CHECK_SOUND(&b);
        view_close(&v);
        bench_close(&b);
    }
}

CODE(r11_plain, "mov r11, [r11 + 8]; add r11, rax; jmp r11")
static void without_records_r11_is_the_programs(void)
{
    struct bench b;
    TRANSLATE(&b, r11_plain, NEAR, EVENTS_none);
    struct piece p;
    CHECK(find(&b, ZYDIS_MNEMONIC_ADD, 0, &p) && is_reg(&p.op[0], ZYDIS_REGISTER_R11));
    bench_close(&b);
}

CODE(r11_once, "add r11, [rdi]; ret")
static void the_programs_r11_is_taken_from_the_thread_block_and_put_back(void)
{
    struct bench b;
    struct piece p;
    TRANSLATE(&b, r11_once, NEAR, EVENTS_control);
    CHECK(find(&b, ZYDIS_MNEMONIC_ADD, 0, &p));
    ZydisRegister stand_in = p.op[0].reg.value;
    u64 after = behind(&p);
    CHECK(piece_at(&b, after, &p) && p.z.mnemonic == ZYDIS_MNEMONIC_MOV && is_reg(&p.op[1], stand_in));
    CHECK(p.op[0].mem.segment == ZYDIS_REGISTER_GS && p.op[0].mem.disp.value == T_APP_R11);
    u32 loads = 0;
    for (u32 i = 0; find(&b, ZYDIS_MNEMONIC_MOV, i, &p) && p.at < after; i++)
        loads += is_reg(&p.op[0], stand_in) && p.op[1].mem.disp.value == T_APP_R11;
    CHECK(loads == 1);
    bench_close(&b);
}

/* Our gs must stay: every write of it is a wrgsbase, first the program's, then ours again. */
CODE(gs, "mov rax, gs:[0x10]; mov gs, eax; nop; pop gs; nop; mov gs, [r11]; nop; lgs eax, [rbx]; nop; wrgsbase rax; nop\n"
         "rdgsbase rcx; movsb; gs movsb; gs lodsq; gs xlatb; jmp gs:[rax]")
static void gs_is_never_lost(void)
{
    for (enum events_level level = EVENTS_none; level <= EVENTS_values; level++) {
        struct bench b;
        struct view v;
        u32 bases = 0;
        OPEN(&b, gs, NEAR, .events = level, .no_ahead = true);
        struct piece p;
        for (u64 pc = NEAR; decode_bytes(b.code + (pc - NEAR), b.size - (pc - NEAR), &p); pc += p.z.length)
            ask(&b, pc, BY_LINK);
        view_open(&b, &v);
        CHECK_VIEW(&b, &v);
        for (size_t i = 0; i < v.at.n; i++) {
            CHECK(piece_at(&b, v.at.v[i], &p));
            bases += p.z.mnemonic == ZYDIS_MNEMONIC_WRGSBASE;
            for (int k = 0; k < p.z.operand_count; k++)
                CHECK_CASE(!(is_reg(&p.op[k], ZYDIS_REGISTER_GS) && p.op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE),
                           "%s changes gs at level %d", ZydisMnemonicGetString(p.z.mnemonic), level);
        }
        CHECK(bases >= 10 && bases % 2 == 0);
        view_close(&v);
        bench_close(&b);
    }
}

int main(void)
{
    translated_begin();
    push_and_pop_cost_no_slot();
    members_of_one_object_cost_one_slot();
    rip_relative_operands_cost_no_slot();
    a_load_makes_its_register_unknown();
    lea_add_and_mov_keep_a_register_known();
    leave_after_mov_rbp_rsp_costs_no_slot();
    cleared_registers_are_constants();
    rsp_is_settled_after_it_was_realigned();
    rsp_is_settled_wherever_a_unit_can_be_left();
    an_address_of_too_many_terms_costs_another_slot();
    each_exit_is_a_prefix_of_the_path();
    the_table_keeps_the_path_and_its_bytes();
    calls_say_what_they_push_and_where_they_come_back();
    system_calls_and_segment_changes_end_a_unit();
    fewer_events_mean_fewer_slots();
    special_forms_have_their_slots();
    a_unit_is_as_short_as_it_is_told();
    a_long_path_is_cut();
    a_unit_has_no_more_exits_than_room();
    a_unit_has_no_more_slots_than_a_record();
    a_path_ends_where_it_meets_itself();
    what_cannot_be_run_is_refused_with_a_sentence();
    a_unit_ends_before_what_is_refused();
    a_unit_ends_before_accesses_that_are_not_known();
    traps_run_at_the_end_of_their_own_unit();
    exits_that_do_not_exist_are_refused();
    a_direct_branch_to_address_0_asks_like_any_other();
    instructions_are_copied_in_order();
    rip_relative_operands_in_reach_stay_relative();
    rip_relative_operands_out_of_reach_go_through_a_register();
    far_lea_gives_the_address();
    far_branches_through_a_segment_keep_it();
    nothing_is_pushed_but_what_the_program_pushes();
    a_return_releases_as_much_as_it_says();
    strict_code_has_no_calls_and_no_returns();
    r11_is_only_the_record_pointer();
    without_records_r11_is_the_programs();
    the_programs_r11_is_taken_from_the_thread_block_and_put_back();
    gs_is_never_lost();
    return test_end("translate");
}
