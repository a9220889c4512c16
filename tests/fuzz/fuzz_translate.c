/* SPDX-License-Identifier: MIT */
/* Any bytes as code: translate from several places, follow exits, run ahead, drop a part and do it again; then the table
 * must be sound and all that was emitted must decode, along every branch, with no register of ours lost.
 *
 *   byte 0   level of events, strict, no_link, all_gates, no_ahead
 *   byte 1   most instructions in a unit (0: the default), most branches
 *   byte 2   where the code lies: in reach of the cache, out of reach, below 2 GB, near both ends of the address space;
 *            and, from 64 on, which part of it is dropped
 *   byte 3   the first place to translate from; and what is selected, and whether there is a budget
 *   the rest is the code
 *
 * One translator serves all inputs; it is put back to its beginning by hand, because making one costs milliseconds. */
#include "translate/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define JUMP 0x7f000000ul

enum { HEAD = 4, CODE_LIMIT = 4096, STARTS = 6, EXITS = 48, AHEAD = 48, PATHS = 6 };

static const struct {
    u64 base, pc;
} places[] = {
    {0x555500000000, 0x555560000000}, {0x555500000000, 0x7ffff7c00ffa}, {0x40000000, 0x401000},
    {0x40000000, 0x10},               {0x40000000, 0xffffffffffffff00}, {0x555500000000, 0x555508000000},
};

struct input {
    const u8 *code;
    size_t size;
    u64 pc;
};

static u8 *wire, *seen;
static struct translator *t;
static struct emit hot, warm, cold; /* as they were at the beginning */
static struct input input;

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static size_t fetch(void *ctx, u64 pc, u8 *buf, size_t n)
{
    const struct input *in = ctx;
    if (pc - in->pc >= in->size)
        return 0;
    n = MIN(n, in->size - (pc - in->pc));
    memcpy(buf, in->code + (pc - in->pc), n);
    return n;
}

/* Pieces of 64 bytes take turns. */
static enum code_kind kind(void *ctx, u64 pc)
{
    (void)ctx;
    return pc & 64 ? CODE_STABLE : CODE_VOLATILE;
}

/* Pieces of 32 bytes are selected or not, and here and there a function begins, or something is told. */
static u32 spot(void *ctx, u64 pc)
{
    (void)ctx;
    return (pc & 32 ? SPOT_SELECTED : 0) | (pc % 13 == 0 ? SPOT_HEAD : 0) | (pc % 29 == 0 ? SPOT_TELL : 0);
}

static void *reserve(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(p != MAP_FAILED);
    return p;
}

/* -- One translator for all inputs ------------------------------------------------------------ */

static void make_translator(void)
{
    wire = reserve(WIRE_SIZE);
    seen = reserve(WIRE_CACHE_SIZE);
    struct translate_config c = {
        .fetch = fetch, .ctx = &input, .wire = wire, .base = places[0].base, .jump = JUMP};
    t = translator_new(&c);
    hot = t->hot;
    warm = t->warm;
    cold = t->cold;
}

static void forget_emitted(void)
{
    memset(seen + (hot.p - wire - WIRE_CACHE_OFF), 0, (size_t)(t->hot.p - hot.p));
    memset(seen + (warm.p - wire - WIRE_CACHE_OFF), 0, (size_t)(t->warm.p - warm.p));
    memset(seen + (cold.p - wire - WIRE_CACHE_OFF), 0, (size_t)(t->cold.p - cold.p));
    t->hot = hot;
    t->warm = warm;
    t->cold = cold;
}

static void move_to(u64 base)
{
    struct guest_points *g = &t->config.guest;
    t->config.base = base;
    t->cache = base + WIRE_CACHE_OFF;
    t->hot.to_app = t->warm.to_app = t->cold.to_app = (s64)(base - (u64)(uintptr_t)wire);
    *g = (struct guest_points){base + 0x100, base + 0x200, base + 0x300, base + 0x400,
                               base + 0x500, base + 0x600, base + 0x700, base + 0x800, base + 0x900};
}

static void begin(const u8 *head)
{
    forget_emitted();
    madvise(wire + WIRE_INDEX_OFF, WIRE_INDEX_SIZE, MADV_DONTNEED);
    links_forget(t);
    t->table.units.n = t->table.insns.n = t->table.refs.n = t->table.exits.n = t->table.code.n = 0;
    t->marks.n = t->ahead.n = t->ahead_next = 0;
    t->ahead_budget = t->n_chained = 0;
    places_fini(&t->places);
    pages_fini(&t->pages);
    free(t->numbers.v);
    t->numbers = (struct numbers){0};
    novel_fini(t);
    memset(&t->stats, 0, sizeof t->stats);
    struct translate_config *c = &t->config;
    c->events = head[0] % 4;
    c->strict = head[0] & 4;
    c->no_link = head[0] & 8;
    c->all_gates = head[0] & 16;
    c->no_ahead = head[0] & 32;
    c->kind = head[0] & 64 ? kind : NULL;
    c->stay = head[0] & 128;
    c->selection = c->events ? head[3] >> 2 & 3 : SELECT_all;
    c->has_budget = head[3] & 16;
    c->novel = head[3] >> 5;
    c->spot = spot;
    t->age++; /* other bytes at the same place */
    c->unit_insns = head[1] & 15;
    c->unit_blocks = head[1] >> 4;
    move_to(places[head[2] % ARRAY_LEN(places)].base);
}

static void translate(const u8 *head)
{
    struct err e;
    for (u32 i = 0; i < STARTS; i++) {
        u64 at = i == 0 ? head[3] : i * 7 + input.size / STARTS * i;
        u64 version = t->config.selection && i & 1 ? PC_QUIET : 0;
        translate_pc(t, (struct app_pc){(input.pc + at % input.size) | version}, i % 3, &e);
        for (int k = 0; k < AHEAD && translate_ahead(t); k++)
            ;
    }
    for (u32 i = 0; i < EXITS; i++)
        translate_exit(t, FIRST_EXIT_ID + i * (head[3] | 1), &e);
}

/* Paths as records would tell them: from each of some exits on, one of the exits of the unit it leads to, and so on. */
static void heat(const u8 *head)
{
    u32 id[HOT_EXITS], n_exits = (u32)t->table.exits.n;
    for (u32 i = 0; i < PATHS && n_exits; i++) {
        u32 n = 0, exit = (head[3] + i * 5u) % n_exits;
        while (n < 2 + (head[2] + 7 * i) % (HOT_EXITS - 1)) {
            const struct unit_exit *x = &t->table.exits.v[exit];
            id[n++] = exit + FIRST_EXIT_ID;
            /* an indirect one may lead to any unit */
            u64 to = x->target ? x->target : t->table.units.v[(exit + i) % t->table.units.n].pc;
            const struct place *p = places_find(&t->places, to);
            if (!p || !p->unit)
                break;
            const struct unit *u = &t->table.units.v[p->unit - 1];
            exit = u->exit0 + (head[1] + n * head[0]) % u->n_exits;
        }
        translate_hot(t, id, n);
    }
}

/* Some code has been recorded as often as it is to be. */
static void settle(const u8 *head)
{
    for (u32 i = 0; i < t->novelty.n; i++)
        if (i % 8 < (head[1] & 7u))
            wire[WIRE_NOVEL_OFF + i] = 0;
    while (translate_settle(t, true))
        ;
}

static void drop(const u8 *head)
{
    u64 start = input.size * (head[2] >> 4) / 16, size = 1 + input.size * (head[3] & 7) / 16;
    translate_drop(t, input.pc + start, input.pc + start + size);
}

/* -- What was emitted ------------------------------------------------------------------------- */

struct piece {
    u64 at;
    ZydisDecodedInstruction z;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

static VEC(u64) todo;

static _Noreturn void fault(u64 at, const char *what)
{
    fprintf(stderr, "at cache offset 0x%lx: %s\n", (unsigned long)(at - t->cache), what);
    abort();
}

static bool in_cache(u64 at)
{
    return at - t->cache < WIRE_CACHE_SIZE;
}

static bool decode(u64 at, struct piece *p)
{
    static ZydisDecoder d;
    static bool ready;
    const u8 *from = wire + WIRE_CACHE_OFF + (at - t->cache);
    const u8 *end = from >= cold.p ? t->cold.p : from >= warm.p ? t->warm.p : t->hot.p;
    if (!ready)
        ready = ZYAN_SUCCESS(ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
                ZYAN_SUCCESS(ZydisDecoderEnableMode(&d, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE)); /* nops */
    p->at = at;
    return in_cache(at) && from >= hot.p && from < end &&
           ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, from, (size_t)(end - from), &p->z, p->op));
}

/* The operand of a nop may hide the way out of a door: a jump. See emit_leave_unless_one. */
static u32 own_bytes(const struct piece *p)
{
    enum { NOP_OPCODE = 3, JMP = 0xe9 };
    bool hides = p->z.mnemonic == ZYDIS_MNEMONIC_NOP && p->z.raw.sib.offset == NOP_OPCODE && p->z.length == NOP_OPCODE + 5 &&
                 (p->z.raw.sib.scale << 6 | p->z.raw.sib.index << 3 | p->z.raw.sib.base) == JMP;
    return hides ? NOP_OPCODE : p->z.length;
}

static void mark_piece(const struct piece *p)
{
    u8 *s = seen + (p->at - t->cache);
    for (u32 i = 0; i < own_bytes(p); i++) {
        if (s[i])
            fault(p->at, "two instructions overlap");
        s[i] = i ? 2 : 1;
    }
}

/* A branch that missed; or the same with rcx in r10. */
static bool is_miss(const struct guest_points *g, u64 at)
{
    return at == g->indirect || at == g->landing || at == g->indirect - MISS_MOVE || at == g->landing - MISS_MOVE;
}

static bool is_guest_point(u64 at)
{
    const struct guest_points *g = &t->config.guest;
    return at == g->exit || at == g->gate || at == g->state || is_miss(g, at) ||
           at == g->syscall || at == g->stale || at == g->tell;
}

/* From the guest, the thread goes on behind what has led it there. */
static u64 back_from_telling(u64 gate)
{
    struct gate g;
    memcpy(&g, wire + WIRE_CACHE_OFF + (gate - t->cache), sizeof g);
    return gate + (u64)(s64)g.inner;
}

static void follow(const struct piece *p)
{
    ZydisInstructionCategory c = p->z.meta.category;
    u64 behind = p->at + p->z.length;
    if (p->z.mnemonic == ZYDIS_MNEMONIC_XABORT) /* for Zydis it is a branch */
        c = ZYDIS_CATEGORY_NOP;
    bool branches = c == ZYDIS_CATEGORY_COND_BR || c == ZYDIS_CATEGORY_UNCOND_BR || c == ZYDIS_CATEGORY_CALL;
    bool goes_on = c != ZYDIS_CATEGORY_UNCOND_BR && c != ZYDIS_CATEGORY_RET;
    if (branches && p->op[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        if (c != ZYDIS_CATEGORY_UNCOND_BR || p->op[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
            p->op[0].reg.value != ZYDIS_REGISTER_R10)
            fault(p->at, "an indirect branch that is not ours");
        return;
    }
    if (branches) {
        u64 to = behind + (u64)p->op[0].imm.value.s;
        if (in_cache(to))
            vec_push(&todo, to);
        else if (!is_guest_point(to))
            fault(p->at, "a branch to nowhere");
        goes_on |= to == t->config.guest.syscall;
        if (to == t->config.guest.tell)
            vec_push(&todo, back_from_telling(behind));
    }
    if (goes_on)
        vec_push(&todo, behind);
}

/* Nothing may change the record pointer but ourselves, nor the gs selector at all. */
static void check_registers(const struct piece *p)
{
    for (int i = 0; i < p->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &p->op[i];
        if (o->type != ZYDIS_OPERAND_TYPE_REGISTER || !(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        if (o->reg.value == ZYDIS_REGISTER_GS)
            fault(p->at, "gs is lost");
        bool ours = p->z.mnemonic == ZYDIS_MNEMONIC_LEA || p->z.mnemonic == ZYDIS_MNEMONIC_MOV;
        bool stays = t->config.events != EVENTS_none && t->config.stay;
        if (stays && insn_gpr(o->reg.value) == R11 && !ours)
            fault(p->at, "the record pointer is lost");
    }
}

static void push_offset(u32 offset)
{
    if (offset)
        vec_push(&todo, t->cache + offset);
}

static void check_emitted(void)
{
    todo.n = 0;
    for (u32 i = 0; i < t->places.cap; i++) {
        const struct place *p = &t->places.v[i];
        push_offset(p->entry);
        push_offset(p->inner);
        push_offset(p->door);
        push_offset(p->landing);
    }
    for (size_t i = 0; i < t->table.exits.n; i++)
        push_offset(t->links[i].stub);
    while (todo.n) {
        struct piece p;
        u64 at = todo.v[--todo.n];
        if (in_cache(at) && seen[at - t->cache] == 1)
            continue;
        if (!decode(at, &p))
            fault(at, "not an instruction, or not in emitted code");
        mark_piece(&p);
        check_registers(&p);
        follow(&p);
    }
}

static const struct place *place_of(u64 pc)
{
    static const struct place none;
    return pc ? places_get(&t->places, pc) : &none;
}

/* A jump that may be patched lies within 8 aligned bytes, and leads to the unit of its target or to its own stub. What
 * was dropped may lead anywhere. */
static void check_links(void)
{
    for (u32 i = 0; i < t->table.exits.n; i++) {
        const struct link *l = &t->links[i];
        const struct unit_exit *x = &t->table.exits.v[i];
        if (!l->site || place_of(place_key(t->table.units.v[x->unit].pc, t->quiet[x->unit]))->unit != x->unit + 1)
            continue;
        const struct place *p = place_of(link_key(t, i));
        s32 rel;
        memcpy(&rel, wire + WIRE_CACHE_OFF + l->site, 4);
        u32 to = l->site + 4 + (u32)rel;
        check((t->cache + l->site) % 8 <= 4);
        check(to == l->stub || (p->unit && (to == p->entry || to == p->inner)));
        check(to != l->stub || t->config.no_link || !p->unit);
    }
}

/* -- Gates ------------------------------------------------------------------------------------
 *
 * Nothing may go on for ever without passing a gate: see tests/unit/test_translate.c for why these three rules are enough. */

enum { VISITED = 4, OPEN_NOW = 8, TO_JUMP = 16, TO_RETURN = 32 };

/* Where nothing is recorded, an indirect branch is one itself: its index is masked with the limit. */
static bool is_gate(const struct piece *p)
{
    bool tests = p->z.mnemonic == ZYDIS_MNEMONIC_CMP || p->z.mnemonic == ZYDIS_MNEMONIC_PEXT;
    for (int i = 0; i < p->z.operand_count; i++)
        if (p->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && p->op[i].mem.segment == ZYDIS_REGISTER_GS)
            return tests && p->op[i].mem.base == ZYDIS_REGISTER_NONE &&
                   p->op[i].mem.index == ZYDIS_REGISTER_NONE && p->op[i].mem.disp.value == T_LIMIT;
    return false;
}

/* Which indirect departures can be reached from here without a gate. */
static u8 departures(u64 at)
{
    struct piece p;
    u8 *state = in_cache(at) ? &seen[at - t->cache] : NULL, found = 0;
    if (!state)
        return 0;
    if (*state & OPEN_NOW)
        fault(at, "a circle without a gate");
    if (*state & VISITED)
        return *state & (TO_JUMP | TO_RETURN);
    *state |= VISITED | OPEN_NOW;
    for (u64 here = at; decode(here, &p) && !is_gate(&p); here += p.z.length) {
        ZydisInstructionCategory c = p.z.meta.category;
        bool direct = p.op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && c != ZYDIS_CATEGORY_RET;
        if (c == ZYDIS_CATEGORY_RET || (c == ZYDIS_CATEGORY_UNCOND_BR && !direct)) {
            found |= c == ZYDIS_CATEGORY_RET ? TO_RETURN : TO_JUMP;
            break;
        }
        /* A loop back to data that is copied goes on no longer than its count says. */
        bool is_counted = p.z.mnemonic == ZYDIS_MNEMONIC_LOOP && p.op[0].imm.value.s < 0;
        if (p.z.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE && direct && !is_counted)
            found |= departures(here + p.z.length + (u64)p.op[0].imm.value.s);
        if (c == ZYDIS_CATEGORY_UNCOND_BR || c == ZYDIS_CATEGORY_CALL)
            break;
    }
    *state = (u8)((*state & ~OPEN_NOW) | found);
    return found;
}

static void check_gates(void)
{
    for (u32 i = 0; i < t->places.cap; i++) {
        const struct place *p = &t->places.v[i];
        if (p->unit)
            departures(t->cache + p->inner);
        if (p->landing && departures(t->cache + p->landing))
            fault(t->cache + p->landing, "a return leads to an indirect branch without a gate");
        if (p->door && departures(t->cache + p->door) & TO_JUMP)
            fault(t->cache + p->door, "an indirect branch leads to an indirect jump or call without a gate");
    }
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
    if (size <= HEAD)
        return 0;
    if (!t)
        make_translator();
    input = (struct input){data + HEAD, MIN(size - HEAD, CODE_LIMIT), places[data[2] % ARRAY_LEN(places)].pc};
    begin(data);
    translate(data);
    heat(data);
    settle(data);
    if (data[2] >= 64) {
        drop(data);
        translate(data);
        heat(data);
        settle(data);
    }
    const char *why = unit_table_fault(&t->table);
    if (why) {
        fprintf(stderr, "%s\n", why);
        abort();
    }
    check_emitted();
    check_links();
    check_gates();
    return 0;
}
