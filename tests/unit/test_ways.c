/* SPDX-License-Identifier: MIT */
/* How units lead to each other: branches, links, gates, doors; and what becomes of them when code changes, is hot, or is another program's. */
#include "translated.h"

/* -- Branches --------------------------------------------------------------------------------- */

/* The one conditional branch in the cache that can lead to this exit. */
static bool branch_to(struct bench *b, u32 exit_id, struct piece *found)
{
    struct view v;
    u32 n = 0;
    view_open(b, &v);
    for (size_t i = 0; i < v.at.n; i++) {
        struct piece p;
        if (piece_at(b, v.at.v[i], &p) && p.z.meta.category == ZYDIS_CATEGORY_COND_BR && in_cache(b, branch_target(&p)) &&
            asked_exit(b, branch_target(&p)) == exit_id) {
            *found = p;
            n++;
        }
    }
    view_close(&v);
    return n == 1;
}

/* All sixteen, near and short, in the middle of a unit and at its end, forward and back. */
static void conditional_branches_keep_their_condition(void)
{
    for (int k = 0; k < 16 * 8; k++) {
        u8 cc = (u8)(k & 15), code[16] = {0x90, 0x90};
        bool is_short = k & 16, back = k & 32, last = k & 64;
        s32 rel = back ? is_short ? -3 : -7 : 4;
        size_t n = 2;
        if (is_short) {
            code[n++] = 0x70 | cc;
            code[n++] = (u8)rel;
        } else {
            code[n++] = 0x0f;
            code[n++] = 0x80 | cc;
            memcpy(code + n, &rel, 4);
            n += 4;
        }
        u64 next = NEAR + n, target = next + (u64)(s64)rel;
        code[n++] = 0x90;
        for (enum events_level level = EVENTS_none; level <= EVENTS_values; level++) {
            struct bench b;
            struct piece p;
            bench_open(&b, code, n, NEAR,
                       (struct translate_config){.events = level, .no_link = true, .unit_blocks = last ? 1 : 4});
            CHECK(ask(&b, NEAR, BY_LINK) != 0);
            const struct unit *u = unit_at(&b, NEAR);
            CHECK(exit_of(&b, u, 0)->target == target);
            CHECK_CASE(branch_to(&b, FIRST_EXIT_ID + u->exit0, &p) && (p.z.opcode & 15) == cc,
                       "condition %d, %s %s %s, level %d", cc, is_short ? "short" : "near", back ? "back" : "forward",
                       last ? "last" : "free", level);
            /* Not taken, the last one goes on behind it. */
            if (back || last)
                CHECK(asked_target(&b, behind(&p)) == next);
            CHECK_SOUND(&b);
            bench_close(&b);
        }
    }
}

static const struct {
    ZydisMnemonic mnemonic;
    u8 bytes[3];
    u8 size;
} counted[] = {
    {ZYDIS_MNEMONIC_LOOPNE, {0xe0, 2}, 2},      {ZYDIS_MNEMONIC_LOOPE, {0xe1, 2}, 2},
    {ZYDIS_MNEMONIC_LOOP, {0xe2, 0xfe}, 2},     {ZYDIS_MNEMONIC_JRCXZ, {0xe3, 0x7f}, 2},
    {ZYDIS_MNEMONIC_JECXZ, {0x67, 0xe3, 2}, 3}, {ZYDIS_MNEMONIC_LOOP, {0x67, 0xe2, 0x80}, 3},
};

static void loop_and_jrcxz_go_both_ways(void)
{
    for (size_t k = 0; k < ARRAY_LEN(counted); k++)
        for (enum events_level level = EVENTS_none; level <= EVENTS_values; level++) {
            struct bench b;
            struct piece p = {0};
            bench_open(&b, counted[k].bytes, counted[k].size, NEAR, (struct translate_config){.events = level, .no_link = true});
            CHECK(ask(&b, NEAR, BY_LINK) != 0);
            u64 next = NEAR + counted[k].size, target = next + (u64)(s64)(s8)counted[k].bytes[counted[k].size - 1];
            CHECK(find(&b, counted[k].mnemonic, 0, &p) && p.z.address_width == (counted[k].size == 3 ? 32 : 64));
            CHECK(asked_target(&b, branch_target(&p)) == target && asked_target(&b, behind(&p)) == next);
            const struct unit *u = unit_at(&b, NEAR);
            CHECK(u->n_exits == 2 && exit_of(&b, u, 0)->insns == 1 && exit_of(&b, u, 1)->insns == 1);
            CHECK_SOUND(&b);
            bench_close(&b);
        }
}

CODE(diamond, "cmp eax, 1; je 1f; mov ecx, [rdi]; ret; 1: mov ecx, [rsi]; cmp ecx, 7; jne 1b; ret")
static void an_exit_leads_to_its_stub_until_it_is_linked(void)
{
    for (enum events_level level = EVENTS_none; level <= EVENTS_values; level++) {
        struct bench b;
        TRANSLATE(&b, diamond, NEAR, level);
        const struct unit *u = unit_at(&b, NEAR);
        u32 exit = u->exit0, stub = b.t->links[exit].stub;
        CHECK(exit_of(&b, u, 0)->target == NEAR + 8 && !unit_at(&b, NEAR + 8));
        CHECK(!b.t->links[exit].linked && led_to(&b, exit) == cache_of(&b) + stub);
        CHECK(asked_exit(&b, led_to(&b, exit)) == exit + FIRST_EXIT_ID);
        u64 entry = translate_exit(b.t, exit + FIRST_EXIT_ID, &b.err).v;
        struct place p = place_of(&b, NEAR + 8);
        CHECK(entry == cache_of(&b) + p.entry && b.t->links[exit].linked);
        /* Forward within a block of code: behind the gate. */
        CHECK(led_to(&b, exit) == cache_of(&b) + p.inner && p.inner != p.entry);
        /* The loop goes back to its gate. */
        const struct unit *loop = unit_at(&b, NEAR + 8);
        u32 back = loop->exit0 + loop->n_exits - 2;
        CHECK(b.table->exits.v[back].target == NEAR + 8 && led_to(&b, back) == cache_of(&b) + p.entry);
        CHECK_SOUND(&b);
        bench_close(&b);
    }
}

/* Each round can be left, only the last goes back to the gate. Not where records say which way a round went. */
CODE(small_loop, "1: add rax, [rdi]; add rdi, 8; cmp rdi, rsi; jne 1b; ret")
static void a_small_loop_that_stores_nothing_is_laid_out_several_times(void)
{
    for (enum events_level level = EVENTS_none; level <= EVENTS_values; level++)
        for (u32 gates = 0; gates < 2; gates++) {
            struct bench b;
            TRANSLATE(&b, small_loop, NEAR, level, .all_gates = gates);
            const struct unit *u = unit_at(&b, NEAR);
            const u32 rounds = level == EVENTS_none && !gates ? 8 : 1;
            CHECK(u->n_insns == 4 * rounds && u->n_exits == rounds + 1);
            for (u32 k = 0; k < u->n_exits; k++) {
                bool back = k + 2 == u->n_exits;
                CHECK(exit_of(&b, u, k)->insns == 4 * MIN(k + 1, rounds) && exit_of(&b, u, k)->target == NEAR + (back ? 0 : 12));
            }
            CHECK(led_to(&b, u->exit0 + rounds - 1) == cache_of(&b) + place_of(&b, NEAR).entry);
            CHECK_SOUND(&b);
            bench_close(&b);
        }
}

/* A line is left by an indirect branch at once, and that arrives at a gate. */
CODE(line, "1: nop; ret; call 1b")
static void a_line_is_entered_behind_its_gate(void)
{
    struct bench b;
    OPEN(&b, line, NEAR, .events = EVENTS_memory);
    CHECK(ask(&b, NEAR, BY_LINK) != 0 && ask(&b, NEAR + 2, BY_LINK) != 0);
    struct place p = place_of(&b, NEAR);
    CHECK(p.inner != p.entry && led_to(&b, unit_at(&b, NEAR + 2)->exit0) == cache_of(&b) + p.inner);
    bench_close(&b);
}

static void every_link_goes_through_a_gate_when_told(void)
{
    struct bench b;
    TRANSLATE(&b, diamond, NEAR, EVENTS_memory, .all_gates = true);
    CHECK(translate_exit(b.t, FIRST_EXIT_ID, &b.err).v == led_to(&b, 0));
    for (size_t i = 0; i < b.table->units.n; i++) {
        struct place p = place_of(&b, b.table->units.v[i].pc);
        CHECK(p.entry != p.inner);
    }
    bench_close(&b);
}

static void nothing_is_linked_when_told(void)
{
    struct bench b;
    OPEN(&b, diamond, NEAR, .events = EVENTS_memory, .no_link = true);
    CHECK(ask(&b, NEAR, BY_LINK) != 0);
    while (translate_ahead(b.t))
        ;
    CHECK(b.table->units.n >= 3);
    for (u32 i = 0; i < b.table->exits.n; i++)
        if (b.t->links[i].site)
            CHECK(asked_exit(&b, led_to(&b, i)) == i + FIRST_EXIT_ID);
    CHECK(translator_stats(b.t).links == 0);
    bench_close(&b);
}

static void what_waited_is_linked_whoever_asks(void)
{
    struct bench b;
    TRANSLATE(&b, diamond, NEAR, EVENTS_memory);
    CHECK(ask(&b, NEAR + 8, BY_JUMP) != 0);
    CHECK(b.t->links[0].linked && led_to(&b, 0) == cache_of(&b) + place_of(&b, NEAR + 8).inner);
    CHECK_SOUND(&b);
    bench_close(&b);
}

/* A unit that its predecessor runs on into needs no jump: the exit has no site, and the code is adjacent. */
static void what_is_run_on_into_has_no_jump(void)
{
    struct bench b;
    TRANSLATE(&b, straight, NEAR, EVENTS_memory);
    const struct unit *u = unit_at(&b, NEAR);
    u32 exit = u->exit0;
    u64 next = b.table->exits.v[exit].target;
    CHECK(u->n_exits == 1 && unit_at(&b, next) && b.t->links[exit].site == 0);
    struct piece p = {.at = 0};
    u64 at = b.entry, to = cache_of(&b) + place_of(&b, next).entry;
    while (at < to && piece_at(&b, at, &p) && (p.z.meta.category != ZYDIS_CATEGORY_UNCOND_BR))
        at = behind(&p);
    CHECK(at == to);
    bench_close(&b);
}

/* The same where it cannot be translated: then there is a jump after all, and it asks. */
CODE(cut_off, "nop; nop")
static void what_cannot_be_run_on_into_is_asked_for(void)
{
    struct bench b;
    TRANSLATE(&b, cut_off, NEAR, EVENTS_memory);
    CHECK(b.table->units.n == 1 && b.t->links[0].site != 0 && !b.t->links[0].linked);
    CHECK(asked_exit(&b, led_to(&b, 0)) == FIRST_EXIT_ID && b.table->exits.v[0].target == NEAR + 2);
    CHECK_SOUND(&b);
    bench_close(&b);
}

CODE(guarded, "1: add eax, ecx; mov [rdi], eax; jmp 1b")
CODE(reads_flags, "1: adc eax, ecx; lea rdi, [rdi + 8]; jmp 1b")
static void a_gate_keeps_the_flags_that_are_read(void)
{
    for (int live = 0; live < 2; live++) {
        struct bench b;
        struct piece p;
        if (live)
            TRANSLATE(&b, reads_flags, NEAR, EVENTS_memory);
        else
            TRANSLATE(&b, guarded, NEAR, EVENTS_memory);
        CHECK(count(&b, ZYDIS_MNEMONIC_LAHF) == (live ? 1 : 0));
        CHECK(count(&b, ZYDIS_MNEMONIC_SAHF) == (live ? 2 : 0)); /* on the way on and on the way out */
        CHECK(find(&b, ZYDIS_MNEMONIC_CMP, 0, &p) && is_reg(&p.op[0], ZYDIS_REGISTER_R11));
        CHECK_SOUND(&b);
        bench_close(&b);
    }
}

/* -- Records ---------------------------------------------------------------------------------- */

/* What a way through a unit has written so far. */
struct way {
    u64 at;
    s64 advance; /* of the record pointer */
    u32 header;  /* at the record's beginning */
    u32 slots;   /* as a number of stores to distinct places: one bit each for the first 32 */
    ZydisRegister pointer; /* which register that is, if not r11 */
};

/* The record pointer goes to another register, and back. */
static void note_move(struct way *w, const struct piece *p)
{
    const ZydisDecodedOperand *to = &p->op[0], *from = &p->op[1];
    if (p->z.mnemonic != ZYDIS_MNEMONIC_MOV || to->type != ZYDIS_OPERAND_TYPE_REGISTER || from->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return;
    if (!w->pointer && is_reg(from, ZYDIS_REGISTER_R11) && ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, to->reg.value) == 64)
        w->pointer = to->reg.value;
    else if (w->pointer && is_reg(to, ZYDIS_REGISTER_R11) && is_reg(from, w->pointer))
        w->pointer = ZYDIS_REGISTER_NONE;
}

/* The record of a way that is over names an exit, has its slots, and was passed over. */
static bool leaves_record(const struct bench *b, const struct way *w, u32 exit_id)
{
    u32 exit = (w->header >> RECORD_ID_SHIFT) - FIRST_EXIT_ID;
    if (exit >= b->table->exits.n || (exit_id && exit_id != w->header >> RECORD_ID_SHIFT))
        return false;
    u32 slots = b->table->exits.v[exit].slots;
    u32 all = slots >= 32 ? 0xffffffff : (1u << slots) - 1;
    return (w->header & RECORD_SLOT_LIMIT) == slots && w->advance == RECORD_SLOTS_AT + 8 * (s64)slots &&
           (w->slots & all) == all;
}

/* One instruction's part in the record. */
static bool note_record(struct way *w, const struct piece *p)
{
    const ZydisDecodedOperand *to = &p->op[0], *from = &p->op[1];
    if (!w->pointer && p->z.mnemonic == ZYDIS_MNEMONIC_LEA && is_reg(to, ZYDIS_REGISTER_R11) &&
        from->mem.base == ZYDIS_REGISTER_R11)
        w->advance += from->mem.disp.value;
    if (to->type != ZYDIS_OPERAND_TYPE_MEMORY || to->mem.base != (w->pointer ? w->pointer : ZYDIS_REGISTER_R11))
        return true;
    s64 at = w->advance + to->mem.disp.value;
    if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        w->header = (u32)from->imm.value.u;
        return at == 0;
    }
    u32 first = (u32)(at - RECORD_SLOTS_AT) / 8, n = to->size > 64 ? to->size / 64u : 1;
    for (u32 k = first; k < first + n && k < 32; k++) {
        if (w->slots >> k & 1)
            return false; /* written twice */
        w->slots |= 1u << k;
    }
    return w->advance == 0 && at >= RECORD_SLOTS_AT && (at - RECORD_SLOTS_AT) % 8 == 0;
}

/* Follow every way from an entry to where it leaves the cache or the unit; count them. */
static u32 check_ways(const struct bench *b, struct way w, int depth)
{
    u32 n = 0;
    for (struct piece p; depth < 40 && piece_at(b, w.at, &p); w.at = behind(&p)) {
        bool direct = p.z.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE && p.z.meta.category != ZYDIS_CATEGORY_RET &&
                      is_direct(&p);
        note_move(&w, &p);
        if (!w.pointer && p.z.mnemonic == ZYDIS_MNEMONIC_MOV && is_reg(&p.op[0], ZYDIS_REGISTER_R11D)) {
            CHECK_CASE(leaves_record(b, &w, (u32)p.op[1].imm.value.u), "header 0x%x, advance %ld, slots 0x%x, exit %lu",
                       w.header, (long)w.advance, w.slots, (unsigned long)p.op[1].imm.value.u);
            return n + 1;
        }
        if (p.z.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE && !direct) {
            CHECK(leaves_record(b, &w, 0));
            return n + 1;
        }
        CHECK(note_record(&w, &p));
        bool over = direct && (branch_target(&p) == b->config.guest.gate || is_miss(&b->config.guest, branch_target(&p)));
        if (over)
            return n;
        if (direct && in_cache(b, branch_target(&p))) {
            struct way side = w;
            side.at = branch_target(&p);
            n += check_ways(b, side, depth + 1);
        }
        if (direct && in_cache(b, branch_target(&p)) && p.z.meta.category != ZYDIS_CATEGORY_COND_BR)
            return n;
    }
    CHECK_CASE(false, "a way leads nowhere, depth %d", depth);
    return n;
}

static void every_way_out_of_a_unit_leaves_one_whole_record(void)
{
    const struct {
        const u8 *code, *end;
    } cases[] = {{code_branches, code_branches_end}, {code_stack, code_stack_end},     {code_r11, code_r11_end},
                 {code_calls, code_calls_end},       {code_kernel, code_kernel_end},   {code_special, code_special_end},
                 {code_diamond, code_diamond_end},   {code_steps, code_steps_end},     {code_many_branches, code_many_branches_end},
                 {code_left_as_sum, code_left_as_sum_end}, {code_far_data, code_far_data_end}};
    for (size_t i = 0; i < 4 * ARRAY_LEN(cases); i++) {
        struct bench b;
        struct piece p;
        u32 ways = 0, exits = 0;
        bench_open(&b, cases[i / 4].code, (size_t)(cases[i / 4].end - cases[i / 4].code), i & 2 ? FAR : NEAR,
                   (struct translate_config){.events = i & 1 ? EVENTS_memory : EVENTS_control, .no_link = true,
                                             .strict = i % 3 == 0, .unit_blocks = i % 5 == 0});
        for (u64 pc = b.pc; decode_bytes(b.code + (pc - b.pc), b.size - (pc - b.pc), &p); pc += p.z.length)
            ask(&b, pc, BY_LINK);
        for (size_t k = 0; k < b.table->units.n; k++)
            ways += check_ways(&b, (struct way){.at = cache_of(&b) + place_of(&b, b.table->units.v[k].pc).inner}, 0);
        for (size_t k = 0; k < b.table->exits.n; k++)
            exits += b.table->exits.v[k].kind != EXIT_LANDING;
        CHECK_CASE(ways == exits, "case %zu: %u ways for %u exits", i, ways, exits);
        bench_close(&b);
    }
}

/* -- Gates ------------------------------------------------------------------------------------
 *
 * A thread that records may not go on for ever without passing a gate, or its records run out of the buffer. Three rules
 * are enough, whatever the program does: direct branches alone make no circle without a gate; what was returned to passes a
 * gate before it leaves indirectly, by a return (the way out of a deep recursion) or otherwise; what was jumped to or
 * called passes one before it jumps or calls indirectly. Where nothing is recorded the way of an indirect branch is a gate
 * itself: its index is masked with the limit. */

enum { VISITED = 1, OPEN_NOW = 2, TO_JUMP = 4, TO_RETURN = 8 };

static bool is_gate(const struct piece *p)
{
    const ZydisDecodedOperand *m = memory_of(p);
    return (p->z.mnemonic == ZYDIS_MNEMONIC_CMP || p->z.mnemonic == ZYDIS_MNEMONIC_PEXT) && m && m->mem.segment == ZYDIS_REGISTER_GS &&
           m->mem.disp.value == T_LIMIT;
}

/* Which indirect departures can be reached from here without a gate. */
static u8 departures(struct bench *b, u64 at, struct view *v)
{
    struct piece p;
    u8 *state = in_cache(b, at) ? &seen[at - cache_of(b)] : NULL, found = 0;
    if (!state || v->fault)
        return 0;
    if (*state & OPEN_NOW)
        view_fault(v, at, "a circle without a gate");
    if (*state & VISITED)
        return *state & (TO_JUMP | TO_RETURN);
    *state = VISITED | OPEN_NOW;
    for (u64 here = at; piece_at(b, here, &p) && !is_gate(&p); here = behind(&p)) {
        ZydisInstructionCategory c = p.z.meta.category;
        bool direct = is_direct(&p) && c != ZYDIS_CATEGORY_RET;
        if (c == ZYDIS_CATEGORY_RET || (c == ZYDIS_CATEGORY_UNCOND_BR && !direct)) {
            found |= c == ZYDIS_CATEGORY_RET ? TO_RETURN : TO_JUMP;
            break;
        }
        if (p.z.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE && direct)
            found |= departures(b, branch_target(&p), v);
        /* What is behind a call is reached by a return only, and what is behind a jump not at all. */
        if (c == ZYDIS_CATEGORY_UNCOND_BR || c == ZYDIS_CATEGORY_CALL)
            break;
    }
    *state = VISITED | found;
    return found;
}

/* The first place that breaks one of the rules. */
static void view_gates(struct bench *b, struct view *v)
{
    *v = (struct view){0};
    madvise(seen, WIRE_CACHE_SIZE, MADV_DONTNEED);
    for (u32 i = 0; i < b->t->places.cap; i++) {
        const struct place *p = &b->t->places.v[i];
        if (p->unit)
            departures(b, cache_of(b) + p->inner, v);
        if (p->landing && departures(b, cache_of(b) + p->landing, v))
            view_fault(v, cache_of(b) + p->landing, "a return leads to an indirect branch without a gate");
        if (p->door && departures(b, cache_of(b) + p->door, v) & TO_JUMP)
            view_fault(v, cache_of(b) + p->door, "an indirect branch leads to an indirect jump or call without a gate");
    }
}

CODE(threaded, "1: dec rcx; cmovz rbx, rdx; jmp rbx")
CODE(call_loop, "1: call rbx; jmp 1b")
CODE(recursion, "1: dec rcx; jz 2f; call 1b; 2: ret")
CODE(unwound, "1: sub rsp, 8; call [rax]; add rsp, 8; ret")
CODE(plt_loop, "1: call 2f; jmp 1b; 2: jmp [rip + 0x1000]")
CODE(self_call, "1: call 1b")
CODE(not_a_line, "1: dec rcx; jnz 2f; ret; 2: jmp 1b")
static void nothing_goes_round_without_passing_a_gate(void)
{
    const struct {
        const char *name;
        const u8 *code, *end;
    } cases[] = {
        {"a dispatch by indirect jumps", code_threaded, code_threaded_end},
        {"calls through a pointer for ever", code_call_loop, code_call_loop_end},
        {"the way out of a recursion", code_recursion, code_recursion_end},
        {"a recursion through a pointer", code_unwound, code_unwound_end},
        {"calls through the linkage table", code_plt_loop, code_plt_loop_end},
        {"a line with a way out", code_not_a_line, code_not_a_line_end},
        {"an endless recursion", code_self_call, code_self_call_end},
        {"a loop", code_diamond, code_diamond_end},
        {"a jump back", code_reads_flags, code_reads_flags_end},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int k = 0; k < 12; k++) {
            struct bench b;
            struct view v;
            const enum events_level level[] = {EVENTS_control, EVENTS_memory, EVENTS_none};
            bench_open(&b, cases[i].code, (size_t)(cases[i].end - cases[i].code), NEAR,
                       (struct translate_config){.events = level[k / 4], .strict = k & 1, .no_ahead = k & 2});
            struct piece p;
            for (u64 pc = NEAR; decode_bytes(b.code + (pc - NEAR), b.size - (pc - NEAR), &p); pc += p.z.length)
                for (enum arrival by = BY_LINK; by <= BY_RETURN; by++) {
                    ask(&b, pc, by);
                    while (translate_ahead(b.t))
                        ;
                }
            view_gates(&b, &v);
            CHECK_CASE(!v.fault, "%s, case %d: %s", cases[i].name, k, v.fault);
            bench_close(&b);
        }
}

/* -- What the program finds its way with ------------------------------------------------------ */

static const struct index_entry *index_of(u64 pc)
{
    const struct index_entry *v = (const struct index_entry *)(wire + WIRE_INDEX_OFF);
    u32 mask = (1u << WIRE_INDEX_LOG2) - 1, i = index_hash(pc);
    while (v[i].pc && v[i].pc != pc)
        i = (i + 1) & mask;
    return v[i].pc ? &v[i] : NULL;
}

static u64 jump_table(const struct bench *b, u64 pc, bool returns)
{
    const u64 *jump = (const u64 *)(wire + WIRE_JUMP_OFF);
    return jump[(returns ? JUMP_MASK + 1 : 0) + (pc & (b->t->has_bmi2 ? JUMP_MASK : 0xffff))];
}

/* An entry for an indirect branch compares with its own pc before anything else. */
static bool verifies(const struct bench *b, u64 at, u64 pc)
{
    struct piece p;
    for (int i = 0; i < 6 && piece_at(b, at, &p); i++, at = behind(&p))
        if (p.z.mnemonic == ZYDIS_MNEMONIC_LEA)
            return (u32)p.op[1].mem.disp.value == b->t->has_quick_loop - (u32)(pc >> 16);
    return false;
}

static void doors_and_landings_are_in_the_tables(void)
{
    for (int late = 0; late < 2; late++)
        for (enum arrival by = BY_JUMP; by <= BY_RETURN; by++) {
            struct bench b;
            OPEN(&b, members, NEAR, .events = EVENTS_memory, .no_ahead = true);
            CHECK(jump_table(&b, NEAR, false) == b.config.guest.indirect);
            CHECK(jump_table(&b, NEAR, true) == b.config.guest.landing);
            if (late)
                CHECK(ask(&b, NEAR, BY_LINK) != 0 && jump_table(&b, NEAR, false) == b.config.guest.indirect);
            CHECK(ask(&b, NEAR, by) != 0);
            const struct index_entry *x = index_of(NEAR);
            struct place p = place_of(&b, NEAR);
            CHECK(x && x->entry == p.entry && x->door == p.door && x->landing == p.landing);
            u32 offset = by == BY_JUMP ? p.door : p.landing;
            CHECK((p.door != 0) == (by == BY_JUMP) && (p.landing != 0) == (by == BY_RETURN));
            CHECK(jump_table(&b, NEAR, by == BY_RETURN) == cache_of(&b) + offset);
            CHECK(jump_table(&b, NEAR, by == BY_JUMP) ==
                  (by == BY_JUMP ? b.config.guest.landing : b.config.guest.indirect));
            CHECK(verifies(&b, cache_of(&b) + offset, NEAR));
            u64 before = translator_stats(b.t).cache_bytes;
            CHECK(ask(&b, NEAR, by) == cache_of(&b) + p.entry && translator_stats(b.t).cache_bytes == before);
            CHECK_SOUND(&b);
            bench_close(&b);
        }
}

static void a_call_lands_behind_itself(void)
{
    struct bench b;
    TRANSLATE(&b, calls, NEAR, EVENTS_memory);
    struct piece p;
    CHECK(find(&b, ZYDIS_MNEMONIC_CALL, 0, &p));
    CHECK(jump_table(&b, NEAR + 6, true) == behind(&p) && verifies(&b, behind(&p), NEAR + 6));
    CHECK(place_of(&b, NEAR + 6).landing == behind(&p) - cache_of(&b));
    bench_close(&b);
}

/* Below 2 GB the address is stored as a constant, elsewhere it is pushed from one beside the code. */
static void the_return_address_is_pushed_as_the_program_has_it(void)
{
    for (int k = 0; k < 4; k++) {
        struct bench b;
        struct piece p;
        bool low = k & 1, strict = k & 2;
        OPEN(&b, calls, low ? LOW : NEAR, .events = EVENTS_memory, .base = low ? LOW_BASE : BASE, .strict = strict,
             .no_ahead = true);
        CHECK(ask(&b, b.pc, BY_LINK) != 0);
        u32 found = 0, calls = 0;
        for (size_t i = 0; i < b.table->exits.n; i++)
            calls += b.table->exits.v[i].is_call;
        for (u32 i = 0; low && find(&b, ZYDIS_MNEMONIC_MOV, i, &p); i++)
            found += p.op[0].mem.base == ZYDIS_REGISTER_RSP && p.op[0].mem.disp.value == (strict ? -8 : 0) && p.op[0].size == 64 &&
                     (p.op[1].imm.value.u == LOW + 6 || p.op[1].imm.value.u == LOW + 10);
        for (u32 i = 0; !low && find(&b, ZYDIS_MNEMONIC_PUSH, i, &p); i++)
            found += pushes_return_address(&b, &p);
        CHECK_CASE(found == calls && calls > 0, "%u of %u in case %d", found, calls, k);
        /* The stack pointer moves by what was pushed: a real call's push is taken back, a constant needs room made. */
        u32 up = 0, down = 0;
        for (u32 i = 0; find(&b, ZYDIS_MNEMONIC_LEA, i, &p); i++) {
            up += is_reg(&p.op[0], ZYDIS_REGISTER_RSP) && p.op[1].mem.disp.value == 8;
            down += is_reg(&p.op[0], ZYDIS_REGISTER_RSP) && p.op[1].mem.disp.value == -8;
        }
        CHECK_CASE(up == (low || strict ? 0 : calls) && down == (low && strict ? calls : 0), "%u up %u down in case %d", up,
                   down, k);
        CHECK_SOUND(&b);
        bench_close(&b);
    }
}

static void the_program_can_look_up_where_an_exit_leads(void)
{
    struct bench b;
    OPEN(&b, diamond, NEAR, .events = EVENTS_memory);
    CHECK(ask(&b, NEAR, BY_LINK) != 0);
    while (translate_ahead(b.t))
        ;
    const u64 *target = (const u64 *)(wire + WIRE_TARGET_OFF);
    CHECK(b.table->exits.n > 2);
    for (size_t i = 0; i < b.table->exits.n; i++)
        CHECK(target[FIRST_EXIT_ID + i] == b.table->exits.v[i].target);
    bench_close(&b);
}

/* -- Code that changes ------------------------------------------------------------------------ */

static void dropped_code_is_asked_for_again(void)
{
    struct bench b;
    u8 code[64];
    TRANSLATE(&b, diamond, NEAR, EVENTS_memory);
    memcpy(code, b.code, b.size);
    b.code = code;
    CHECK(ask(&b, NEAR + 8, BY_JUMP) != 0 && ask(&b, NEAR + 8, BY_RETURN) != 0);
    size_t units = b.table->units.n;
    struct place before = place_of(&b, NEAR + 8);
    translate_drop(b.t, NEAR + 8, NEAR + 9);
    /* The exit that was linked asks again, and the tables know nothing of the whole page. */
    CHECK(asked_exit(&b, led_to(&b, 0)) == FIRST_EXIT_ID && !b.t->links[0].linked);
    CHECK(place_of(&b, NEAR + 8).unit == 0 && place_of(&b, NEAR).unit == 0);
    CHECK(jump_table(&b, NEAR + 8, false) == b.config.guest.indirect);
    CHECK(jump_table(&b, NEAR + 8, true) == b.config.guest.landing);
    CHECK(!index_of(NEAR + 8) || index_of(NEAR + 8)->entry == 0);
    CHECK(b.table->units.n == units && translator_stats(b.t).dropped >= 1);
    /* mov ecx, [rsi] becomes mov eax, [rsi] */
    code[9] = 0x06;
    CHECK(translate_exit(b.t, FIRST_EXIT_ID, &b.err).v != 0);
    struct place after = place_of(&b, NEAR + 8);
    CHECK(after.unit > before.unit && after.entry != before.entry);
    /* The dropped unit stays unlinked; its successor is linked. */
    CHECK(asked_exit(&b, led_to(&b, 0)) == FIRST_EXIT_ID && ask(&b, NEAR, BY_LINK) != 0);
    u32 exit0 = b.table->units.v[place_of(&b, NEAR).unit - 1].exit0;
    CHECK(led_to(&b, exit0) == cache_of(&b) + after.inner);
    const struct unit *u = &b.table->units.v[after.unit - 1];
    CHECK(b.table->code.v[b.table->insns.v[u->insn0].bytes + 1] == 0x06);
    CHECK_SOUND(&b);
    bench_close(&b);
}

/* A path that was taken often becomes one unit, in the place of the first of those it was made of: who comes to the old one's head is
 * sent on, and both go when the code does. */
CODE(hot_loop, "1: add eax, [rdi]; lea rdi, [rdi + 8]; dec ecx; jnz 1b; ret")
static void a_hot_path_takes_over(void)
{
    struct bench b;
    TRANSLATE(&b, hot_loop, NEAR, EVENTS_memory);
    struct place cold = place_of(&b, NEAR);
    const struct unit *u = &b.table->units.v[cold.unit - 1];
    CHECK(u->n_insns == 4 && b.table->exits.v[u->exit0].target == NEAR);
    u32 again = u->exit0 + FIRST_EXIT_ID, path[8] = {again, again, again, again, again, again, again, again};
    u32 nonsense[2] = {again, FIRST_EXIT_ID + (u32)b.table->exits.n};
    CHECK(!translate_hot(b.t, path, 0) && !translate_hot(b.t, path, 1) && !translate_hot(b.t, nonsense, 2));
    CHECK(place_of(&b, NEAR).unit == cold.unit);
    CHECK(translate_hot(b.t, path, 8) && translator_stats(b.t).hot == 1);
    struct place hot = place_of(&b, NEAR);
    u = &b.table->units.v[hot.unit - 1];
    CHECK(hot.unit != cold.unit && hot.entry != cold.entry && u->n_insns == 32 && u->n_refs == 8 && u->n_exits == 9);
    /* The pointer is stored once; an exit after the k-th round has k references, all relative to it. */
    for (u32 k = 0; k < u->n_exits; k++) {
        const struct unit_exit *x = &b.table->exits.v[u->exit0 + k];
        u32 rounds = MIN(k + 1, 8u);
        CHECK_CASE(x->insns == 4 * rounds && x->refs == rounds && x->slots == 1, "exit %u", k);
        CHECK_CASE(b.table->refs.v[u->ref0 + rounds - 1].disp == 8 * (rounds - 1), "exit %u", k);
        CHECK_CASE(x->target == (k == 7 ? NEAR : NEAR + b.size - 1), "exit %u", k);
    }
    struct piece p;
    CHECK(piece_at(&b, cache_of(&b) + cold.entry, &p) && p.z.mnemonic == ZYDIS_MNEMONIC_JMP);
    CHECK(branch_target(&p) == cache_of(&b) + hot.entry);
    CHECK(led_to(&b, again - FIRST_EXIT_ID) == cache_of(&b) + hot.entry);
    CHECK_SOUND(&b);
    CHECK(!translate_hot(b.t, path, 1));
    translate_drop(b.t, NEAR, NEAR + 64);
    CHECK(place_of(&b, NEAR).unit == 0 && asked_exit(&b, led_to(&b, again - FIRST_EXIT_ID)) == again);
    CHECK(asked_exit(&b, led_to(&b, u->exit0 + 7)) == u->exit0 + 7 + FIRST_EXIT_ID);
    bench_close(&b);
}

/* A hot loop ends at its own head, the last time that the path comes by there: neither in the middle of a round nor with the next round's call. */
CODE(hot_rounds, "1: call 2f; add rax, rcx; dec ecx; jnz 1b; ret; 2: lea rdx, [rdx + 8]; ret")
static void a_hot_loop_is_of_whole_rounds(void)
{
    enum { BACK = 5, CALLEE = 13, ROUND = 6 };
    struct bench b;
    TRANSLATE(&b, hot_rounds, NEAR, EVENTS_memory);
    CHECK(ask(&b, NEAR + CALLEE, BY_LINK) != 0 && ask(&b, NEAR + BACK, BY_LINK) != 0);
    const u64 pc[] = {NEAR, NEAR + CALLEE, NEAR + BACK};
    u32 round[ARRAY_LEN(pc)], path[HOT_EXITS];
    for (u32 k = 0; k < ARRAY_LEN(pc); k++)
        round[k] = b.table->units.v[place_of(&b, pc[k]).unit - 1].exit0 + FIRST_EXIT_ID;
    for (u32 k = 0; k < ARRAY_LEN(path); k++)
        path[k] = round[k % ARRAY_LEN(round)];
    for (u32 n = 7; n < 9; n++) { /* two rounds, and one or two exits of the next */
        CHECK(translate_hot(b.t, path, n));
        const struct unit *u = &b.table->units.v[place_of(&b, NEAR).unit - 1];
        const struct unit_exit *last = &b.table->exits.v[u->exit0 + u->n_exits - 2];
        CHECK_CASE(u->n_insns == 2 * ROUND && last->insns == 2 * ROUND && last->target == NEAR, "%u exits: %u instructions", n, u->n_insns);
    }
    CHECK_SOUND(&b);
    bench_close(&b);
}

static u32 all_is_selected(void *ctx, u64 pc)
{
    (void)ctx;
    (void)pc;
    return SPOT_SELECTED;
}

/* Code that is recorded while it is new: a quiet path ends before what is not familiar, and is made anew, through all that is, when its own count has come to 0;
 * what is dropped is new again. Three blocks: the first has 2 instructions, the second begins at 4, the third at 8. */
CODE(three_blocks, "test eax, eax; jz 1f; test ecx, ecx; jz 1f; dec edx; 1: ret")
static void familiar_code_is_quiet(void)
{
    struct bench b;
    enum { TIMES = 3, SECOND = 4, THIRD = 8 };
    const u64 quiet = NEAR | PC_QUIET;
    TRANSLATE(&b, three_blocks, NEAR, EVENTS_memory, .selection = SELECT_places, .spot = all_is_selected, .novel = TIMES);
    CHECK(b.entry && b.table->units.v[place_of(&b, NEAR).unit - 1].n_insns == 6);
    CHECK(ask(&b, quiet, BY_LINK) != 0);
    struct place before = place_of(&b, quiet);
    CHECK(b.table->units.v[before.unit - 1].n_insns == 2 && before.asks);
    u8 *first = wire + novel_count(b.t, NEAR), *second = wire + novel_count(b.t, NEAR + SECOND);
    CHECK(*first == TIMES && *second == TIMES && first != second);
    CHECK(!translate_settle(b.t, true) && !novel_is_familiar(b.t, NEAR));
    *first = *second = 0;
    CHECK(novel_is_familiar(b.t, NEAR) && !novel_is_familiar(b.t, NEAR + THIRD));
    CHECK(translate_settle(b.t, true) && translate_settle(b.t, false)); /* the first, and the second, which it ran on into */
    CHECK(!translate_settle(b.t, true) && translator_stats(b.t).settled == 2);
    struct place after = place_of(&b, quiet);
    CHECK(after.unit != before.unit && !after.asks && b.table->units.v[after.unit - 1].n_insns == 4);
    struct piece p;
    CHECK(piece_at(&b, cache_of(&b) + before.entry, &p) && p.z.mnemonic == ZYDIS_MNEMONIC_JMP);
    CHECK(branch_target(&p) == cache_of(&b) + after.entry);
    CHECK_SOUND(&b);
    translate_drop(b.t, NEAR, NEAR + 64);
    CHECK(*first == TIMES && *second == TIMES && !place_of(&b, quiet).unit);
    CHECK(ask(&b, quiet, BY_LINK) != 0 && place_of(&b, quiet).asks);
    CHECK_SOUND(&b);
    bench_close(&b);
}

/* Code that goes and comes back unchanged has the numbers it had, at another place in the cache; changed code has new ones. */
static void what_comes_back_has_its_old_numbers(void)
{
    struct bench b;
    u8 code[64];
    TRANSLATE(&b, diamond, NEAR, EVENTS_memory);
    memcpy(code, b.code, b.size);
    b.code = code;
    CHECK(ask(&b, NEAR + 8, BY_LINK) != 0);
    struct place first = place_of(&b, NEAR + 8), now;
    for (u32 round = 0; round < 6; round++) {
        code[9] ^= 0x08; /* mov ecx, [rsi] becomes mov eax, [rsi], and back */
        size_t units = b.table->units.n, exits = b.table->exits.n;
        if (round & 2)
            CHECK(translate_flush(b.t, &b.err));
        else
            translate_drop(b.t, NEAR, NEAR + 64);
        CHECK(ask(&b, NEAR, BY_LINK) != 0 && ask(&b, NEAR + 8, BY_LINK) != 0);
        now = place_of(&b, NEAR + 8);
        CHECK_CASE((now.unit == first.unit) == (round % 2 == 1), "round %u", round);
        CHECK_CASE(round == 0 || (b.table->units.n == units && b.table->exits.n == exits), "round %u", round);
        CHECK(round & 2 || now.entry != first.entry);
        const struct unit *u = &b.table->units.v[now.unit - 1];
        CHECK(b.table->code.v[b.table->insns.v[u->insn0].bytes + 1] == code[9]);
        CHECK_SOUND(&b);
    }
    bench_close(&b);
}

static void what_runs_on_into_dropped_code_is_dropped_with_it(void)
{
    struct bench b;
    TRANSLATE(&b, straight, NEAR, EVENTS_memory);
    u64 next = b.table->exits.v[0].target;
    CHECK(b.t->links[0].site == 0 && place_of(&b, next).unit);
    translate_drop(b.t, next, next + 1);
    CHECK(place_of(&b, next).unit == 0 && place_of(&b, NEAR).unit == 0);
    CHECK(ask(&b, NEAR, BY_LINK) != 0 && place_of(&b, next).unit != 0);
    CHECK_SOUND(&b);
    bench_close(&b);
}

/* NEAR begins a page; the jump leads to the third. */
CODE(jumps_away, "nop; jmp 1f; .rept 8192; int3; .endr; 1: nop; ret")
static void a_unit_is_dropped_for_any_of_its_pages(void)
{
    static const u64 ranges[][3] = {{0, 4096, 1},     {1, 2, 1},     {4096, 8192, 0}, {8192, 12288, 1},
                                    {12288, 1ul << 40, 0}, {0, 0, 0}, {0, 1ul << 40, 1}};
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
        struct bench b;
        TRANSLATE(&b, jumps_away, NEAR, EVENTS_memory);
        CHECK(unit_at(&b, NEAR)->n_insns == 4);
        translate_drop(b.t, NEAR + ranges[i][0], NEAR + ranges[i][1]);
        CHECK_CASE((place_of(&b, NEAR).unit == 0) == (ranges[i][2] != 0), "range %zu", i);
        bench_close(&b);
    }
}

extern const u8 __executable_start[], etext[];

/* Much code, half of it dropped, and translated again. */
static void dropping_leaves_everything_sound(void)
{
    const u64 from = (u64)(uintptr_t)__executable_start, size = (u64)(etext - __executable_start);
    for (int k = 0; k < 6; k++) {
        struct bench b;
        struct view v;
        bench_open(&b, __executable_start, size, from,
                   (struct translate_config){.events = k & 1 ? EVENTS_memory : EVENTS_none, .no_link = k >= 4,
                                             .no_ahead = k >= 2});
        for (int round = 0; round < 3; round++) {
            for (u64 at = from; at < from + size && b.table->units.n < 4000u * (unsigned)(round + 1); at += 0x40) {
                ask(&b, at + at / 0x100 % 7, at / 0x40 % 3);
                while (translate_ahead(b.t))
                    ;
            }
            translate_drop(b.t, from + size / 4 * (u64)round, from + size / 4 * (u64)round + size / 8);
            for (u32 i = 0; i < b.table->exits.n; i++) {
                const struct link *l = &b.t->links[i];
                struct place p = place_of(&b, b.table->exits.v[i].target ? b.table->exits.v[i].target : 1);
                if (!l->site || !is_current(&b, i))
                    continue;
                u64 to = led_to(&b, i);
                CHECK_CASE(p.unit ? to == cache_of(&b) + p.entry || to == cache_of(&b) + p.inner || b.config.no_link
                                  : asked_exit(&b, to) == i + FIRST_EXIT_ID,
                           "exit %u in case %d", i, k);
            }
        }
        CHECK(translator_stats(b.t).dropped > 100);
        const char *fault = unit_table_fault(b.table);
        CHECK_CASE(!fault, "%s", fault);
        view_open(&b, &v);
        CHECK_VIEW(&b, &v);
        view_close(&v);
        bench_close(&b);
    }
}

/* -- Much code at once ------------------------------------------------------------------------ */

static void check_links(struct bench *b)
{
    u32 linked = 0;
    for (u32 i = 0; i < b->table->exits.n; i++) {
        const struct link *l = &b->t->links[i];
        const struct unit_exit *x = &b->table->exits.v[i];
        if (!l->site)
            continue;
        u64 to = led_to(b, i);
        struct place p = place_of(b, x->target);
        CHECK_CASE((cache_of(b) + l->site) % 8 <= 4, "the jump of exit %u lies across two times 8 bytes", i);
        if (p.unit)
            CHECK_CASE(to == cache_of(b) + p.entry || to == cache_of(b) + p.inner, "exit %u is not linked", i);
        else
            CHECK_CASE(asked_exit(b, to) == i + FIRST_EXIT_ID, "exit %u asks for another", i);
        linked += p.unit != 0;
    }
    CHECK(linked > 100 && linked <= translator_stats(b->t).links);
}

/* Every exit of a direct branch says where that branch goes, and nothing else. */
static void check_targets(const struct bench *b)
{
    for (size_t i = 0; i < b->table->exits.n; i++) {
        const struct unit_exit *x = &b->table->exits.v[i];
        const struct unit *u = &b->table->units.v[x->unit];
        if (x->kind == EXIT_LANDING || x->insns == 0)
            continue;
        const struct unit_insn *last = &b->table->insns.v[u->insn0 + x->insns - 1u];
        struct piece p;
        CHECK(decode_bytes(b->table->code.v + last->bytes, last->len, &p));
        p.at = last->pc;
        bool branches = p.z.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE;
        bool direct = branches && is_direct(&p) && p.z.meta.category != ZYDIS_CATEGORY_RET;
        bool indirect = branches && !direct;
        bool taken = direct && x->target == branch_target(&p), on = x->target == behind(&p);
        bool sure = p.z.meta.category == ZYDIS_CATEGORY_UNCOND_BR || p.z.meta.category == ZYDIS_CATEGORY_CALL;
        CHECK_CASE(indirect ? x->target == 0 : taken || (on && !sure), "exit %zu after %s leads to 0x%lx", i,
                   ZydisMnemonicGetString(p.z.mnemonic), (unsigned long)x->target);
    }
}

/* Our own code, from many places of which not all are instructions. */
static void our_own_code_translates_soundly(void)
{
    const u64 from = (u64)(uintptr_t)__executable_start, size = (u64)(etext - __executable_start);
    for (int k = 0; k < 8; k++) {
        struct bench b;
        struct view v;
        enum events_level level = k % 4 < 2 ? EVENTS_memory : k % 4 == 2 ? EVENTS_control : EVENTS_none;
        u64 base = k & 1 ? BASE : ALIGN_DOWN(from - 0x70000000, 0x200000);
        bench_open(&b, __executable_start, size, from,
                   (struct translate_config){.events = level, .base = base, .strict = k >= 4, .unit_insns = k == 5});
        for (u64 at = from; at < from + size; at += k < 4 ? 0x100 : 0x400) {
            ask(&b, at + at / 0x100 % 7, at / 0x100 % 3);
            while (translate_ahead(b.t))
                ;
        }
        CHECK(b.table->units.n > 500);
        const char *fault = unit_table_fault(b.table);
        CHECK_CASE(!fault, "%s", fault);
        view_open(&b, &v);
        CHECK_VIEW(&b, &v);
        check_links(&b);
        check_targets(&b);
        view_close(&v);
        view_gates(&b, &v);
        CHECK_CASE(!v.fault, "our own code, case %d: %s", k, v.fault);
        bench_close(&b);
    }
}

/* All that a translator has made: its arrays, and the parts of the cache. */
struct made {
    size_t size[10];
    void *bytes[10];
};

static struct made made_by(const struct bench *b)
{
    const struct translator *t = b->t;
    const struct unit_table *x = b->table;
    const struct {
        const void *from;
        size_t size;
    } all[10] = {{x->units.v, x->units.n * sizeof *x->units.v}, {x->insns.v, x->insns.n * sizeof *x->insns.v}, {x->refs.v, x->refs.n * sizeof *x->refs.v},
                 {x->exits.v, x->exits.n * sizeof *x->exits.v}, {x->code.v, x->code.n},                        {t->links, x->exits.n * sizeof *t->links},
                 {t->marks.v, t->marks.n * sizeof *t->marks.v}, {b->hot, (size_t)(t->hot.p - b->hot)},         {b->warm, (size_t)(t->warm.p - b->warm)},
                 {b->cold, (size_t)(t->cold.p - b->cold)}};
    struct made m;
    for (u32 i = 0; i < ARRAY_LEN(all); i++) {
        m.size[i] = all[i].size;
        m.bytes[i] = memcpy(malloc(all[i].size + 1), all[i].from, all[i].size);
    }
    return m;
}

/* All of it twice: what comes back after a flush has the numbers it had. */
static void ask_for_much(struct bench *b)
{
    for (u32 round = 0; round < 2; round++) {
        for (u64 at = b->pc; at < b->pc + b->size; at += 0x300) {
            ask(b, at + at / 0x100 % 7, at / 0x100 % 3);
            while (translate_ahead(b->t))
                ;
        }
        if (!round)
            CHECK(translate_flush(b->t, &b->err));
    }
}

/* Another program's, translated otherwise, of which some is gone again. */
static void a_renewed_translator_is_as_a_new_one(void)
{
    const u64 from = (u64)(uintptr_t)__executable_start, size = (u64)(etext - __executable_start);
    struct bench fresh, used;
    bench_open(&fresh, __executable_start, size, from, (struct translate_config){.events = EVENTS_memory});
    ask_for_much(&fresh);
    struct made one = made_by(&fresh);
    bench_close(&fresh);
    bench_open(&used, __executable_start + 0x55, size - 0x55, from, (struct translate_config){.events = EVENTS_none, .strict = true, .older = true, .exit_limit = 9000});
    ask_for_much(&used);
    translate_drop(used.t, from, from + size / 64);
    CHECK_CASE(used.table->units.n > 500 && translator_stats(used.t).dropped > 100 && translator_is_full(used.t), "%zu units, %lu dropped", used.table->units.n, (unsigned long)translator_stats(used.t).dropped);
    used.code = __executable_start;
    used.size = size;
    used.config.events = EVENTS_memory;
    used.config.strict = used.config.older = false;
    used.config.exit_limit = 0;
    const size_t exits = used.table->exits.n;
    madvise(wire, WIRE_SIZE, MADV_DONTNEED);
    translator_renew(used.t, &used.config);
    for (size_t i = 0; i < exits; i++)
        CHECK(!used.t->links[i].listed && !used.t->links[i].linked);
    CHECK(!used.table->units.n && !translator_is_full(used.t) && !translator_stats(used.t).units);
    ask_for_much(&used);
    struct made other = made_by(&used);
    for (u32 i = 0; i < ARRAY_LEN(one.size); i++) {
        CHECK_CASE(one.size[i] == other.size[i] && one.size[i] && !memcmp(one.bytes[i], other.bytes[i], one.size[i]), "part %u: %zu bytes, and %zu", i, one.size[i], other.size[i]);
        free(one.bytes[i]);
        free(other.bytes[i]);
    }
    bench_close(&used);
}

/* Whether an area is compacted stands in the program's memory, 520 bytes into it: that is read, with the same address. */
CODE(xrstor, "xrstor [ebx + ecx * 2 + 8]; xrstor fs:[rdi + 8]; xrstor [rsi + r11 * 4 - 0x1000]; ret")
CODE(xrstor_far, "xrstor [rax + 0x7fffffff]; xrstor [rcx + rsi * 8 + 0x7ffffdf8]; xrstor [r11 + 0x7fffff00]; xrstor [rip]; ret")
static void the_form_of_an_xrstor_area_is_read_where_it_stands(void)
{
    static const struct {
        ZydisRegister base, index, segment;
        s64 disp;
    } want[] = {{ZYDIS_REGISTER_EBX, ZYDIS_REGISTER_ECX, ZYDIS_REGISTER_DS, 8},
                {ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_NONE, ZYDIS_REGISTER_FS, 8},
                {ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RBX, ZYDIS_REGISTER_DS, -0x1000}};
    struct bench b;
    struct piece p, next;
    TRANSLATE(&b, xrstor, NEAR, EVENTS_memory);
    /* The k-th lea computes the address, and the k-th move from 520 bytes behind it reads the word. */
    for (u32 k = 0; k < ARRAY_LEN(want); k++) {
        u32 loads = 0;
        bool has_lea = false, has_load = false;
        for (u32 i = 0; find(&b, ZYDIS_MNEMONIC_LEA, i, &p); i++) {
            const ZydisDecodedOperandMem *m = &p.op[1].mem;
            has_lea |= m->base == want[k].base && m->index == want[k].index && m->disp.value == want[k].disp;
        }
        for (u32 i = 0; find(&b, ZYDIS_MNEMONIC_MOV, i, &next); i++) {
            const ZydisDecodedOperandMem *m = &next.op[1].mem;
            if (next.op[1].type == ZYDIS_OPERAND_TYPE_MEMORY && m->disp.value == 520)
                has_load |= loads++ == k && m->segment == want[k].segment;
        }
        CHECK_CASE(has_lea, "address of xrstor %u", k);
        CHECK_CASE(has_load, "load of xrstor %u", k);
    }
    bench_close(&b);
    TRANSLATE(&b, xrstor_far, NEAR, EVENTS_memory);
    CHECK(b.table->refs.n == 5);
    CHECK_SOUND(&b);
    bench_close(&b);
}

int main(void)
{
    translated_begin();
    conditional_branches_keep_their_condition();
    loop_and_jrcxz_go_both_ways();
    an_exit_leads_to_its_stub_until_it_is_linked();
    a_small_loop_that_stores_nothing_is_laid_out_several_times();
    a_line_is_entered_behind_its_gate();
    every_link_goes_through_a_gate_when_told();
    nothing_is_linked_when_told();
    what_waited_is_linked_whoever_asks();
    what_is_run_on_into_has_no_jump();
    what_cannot_be_run_on_into_is_asked_for();
    a_gate_keeps_the_flags_that_are_read();
    every_way_out_of_a_unit_leaves_one_whole_record();
    nothing_goes_round_without_passing_a_gate();
    doors_and_landings_are_in_the_tables();
    a_call_lands_behind_itself();
    the_return_address_is_pushed_as_the_program_has_it();
    the_program_can_look_up_where_an_exit_leads();
    dropped_code_is_asked_for_again();
    what_comes_back_has_its_old_numbers();
    a_hot_path_takes_over();
    a_hot_loop_is_of_whole_rounds();
    familiar_code_is_quiet();
    what_runs_on_into_dropped_code_is_dropped_with_it();
    a_unit_is_dropped_for_any_of_its_pages();
    our_own_code_translates_soundly();
    a_renewed_translator_is_as_a_new_one();
    dropping_leaves_everything_sound();
    the_form_of_an_xrstor_area_is_read_where_it_stands();
    return test_end("ways");
}
