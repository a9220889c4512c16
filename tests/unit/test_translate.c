/* SPDX-License-Identifier: MIT */
/* The translator on plain bytes: what its table says of them, and what it makes of them in the cache.
 *
 * Emitted code is looked at from outside: walked with Zydis from every entry along every branch. */
#include "translate/state.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Where the shared pages pretend to be, and where code pretends to be: in reach, out of reach, and below 2 GB. */
#define BASE     0x555500000000ul
#define NEAR     (BASE + 0x60000000)
#define FAR      0x7ffff7c00000ul
#define LOW_BASE 0x40000000ul
#define LOW      0x401000ul
#define JUMP     0x7f000000ul

/* -- Code to translate ------------------------------------------------------------------------ */

/* The bytes of some instructions, made by the assembler. */
#define CODE(name, text)                                                                           \
    extern const u8 code_##name[] __attribute__((visibility("hidden")));                           \
    extern const u8 code_##name##_end[] __attribute__((visibility("hidden")));                     \
    __asm__(".pushsection .rodata\n.intel_syntax noprefix\ncode_" #name ":\n" text                 \
            "\ncode_" #name "_end:\n.byte 0\n.att_syntax\n.popsection\n");

struct bench {
    const u8 *code;
    size_t size;
    u64 pc;
    struct translate_config config;
    struct translator *t;
    const struct unit_table *table;
    u8 *hot, *warm, *cold; /* where the parts of the cache begin */
    struct err err;
    u64 entry; /* of the unit at pc, 0 if it was refused */
};

static u8 *wire, *seen;

static void *reserve(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(p != MAP_FAILED);
    return p;
}

static size_t fetch(void *ctx, u64 pc, u8 *buf, size_t n)
{
    const struct bench *b = ctx;
    if (pc < b->pc || pc - b->pc >= b->size)
        return 0;
    n = MIN(n, b->size - (pc - b->pc));
    memcpy(buf, b->code + (pc - b->pc), n);
    return n;
}

static u64 guest_point(u64 base, u64 n)
{
    return base + WIRE_GUEST_OFF + 0x100 * n;
}

/* Make a translator for the code; fields of the setup that are zero get a default. */
static void bench_open(struct bench *b, const u8 *code, size_t size, u64 pc, struct translate_config setup)
{
    *b = (struct bench){.code = code, .size = size, .pc = pc, .config = setup};
    struct translate_config *c = &b->config;
    c->fetch = fetch;
    c->ctx = b;
    c->wire = wire;
    c->base = c->base ? c->base : BASE;
    c->jump = JUMP;
    c->guest = (struct guest_points){guest_point(c->base, 1), guest_point(c->base, 2), guest_point(c->base, 3),
                                     guest_point(c->base, 4), guest_point(c->base, 5), guest_point(c->base, 6),
                                     guest_point(c->base, 7), guest_point(c->base, 8), guest_point(c->base, 9)};
    madvise(wire, WIRE_SIZE, MADV_DONTNEED);
    b->t = translator_new(c);
    b->table = translator_table(b->t);
    b->hot = b->t->hot.p;
    b->warm = b->t->warm.p;
    b->cold = b->t->cold.p;
}

static void bench_close(struct bench *b)
{
    translator_free(b->t);
}

static u64 ask(struct bench *b, u64 pc, enum arrival by)
{
    b->err.text[0] = 0;
    return translate_pc(b->t, (struct app_pc){pc}, by, &b->err).v;
}

#define OPEN(b, name, at, ...)                                                                     \
    bench_open(b, code_##name, (size_t)(code_##name##_end - code_##name), at,                      \
               (struct translate_config){__VA_ARGS__})
/* The same, and translate what is at its beginning; nothing is translated ahead. */
#define TRANSLATE(b, name, at, level, ...)                                                         \
    (OPEN(b, name, at, .events = (level), .no_ahead = true, __VA_ARGS__), (b)->entry = ask(b, at, BY_LINK))

static const struct unit *unit_at(const struct bench *b, u64 pc)
{
    for (size_t i = 0; i < b->table->units.n; i++)
        if (b->table->units.v[i].pc == pc)
            return &b->table->units.v[i];
    return NULL;
}

static const struct ref *ref_of(const struct bench *b, const struct unit *u, u32 k)
{
    return &b->table->refs.v[u->ref0 + k];
}

static const struct unit_exit *exit_of(const struct bench *b, const struct unit *u, u32 k)
{
    return &b->table->exits.v[u->exit0 + k];
}

/* The last exit: behind the whole path. Calls have a landing after it. */
static const struct unit_exit *last_exit(const struct bench *b, const struct unit *u)
{
    u32 k = u->n_exits - 1;
    return exit_of(b, u, exit_of(b, u, k)->kind == EXIT_LANDING ? k - 1 : k);
}

static struct place place_of(struct bench *b, u64 pc)
{
    return *places_get(&b->t->places, pc);
}

/* -- Looking at the cache --------------------------------------------------------------------- */

struct piece {
    u64 at; /* the program's address */
    ZydisDecodedInstruction z;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

/* Everything that can be reached in the cache, by address. */
struct view {
    VEC(u64) at;
    VEC(u64) todo;
    const char *fault;
    u64 fault_at;
};

static u64 cache_of(const struct bench *b)
{
    return b->config.base + WIRE_CACHE_OFF;
}

/* How many emitted bytes there are from a cache address on; 0 if it is not in emitted code. */
static size_t emitted_from(const struct bench *b, u64 at)
{
    const u8 *p = wire + WIRE_CACHE_OFF + (at - cache_of(b));
    if (at - cache_of(b) >= WIRE_CACHE_SIZE)
        return 0;
    if (p >= b->cold)
        return p < b->t->cold.p ? (size_t)(b->t->cold.p - p) : 0;
    if (p >= b->warm)
        return p < b->t->warm.p ? (size_t)(b->t->warm.p - p) : 0;
    return p >= b->hot && p < b->t->hot.p ? (size_t)(b->t->hot.p - p) : 0;
}

static bool in_cache(const struct bench *b, u64 at)
{
    return at - cache_of(b) < WIRE_CACHE_SIZE;
}

static bool decode_bytes(const u8 *bytes, size_t n, struct piece *p)
{
    static ZydisDecoder d;
    static bool ready;
    if (!ready)
        ready = ZYAN_SUCCESS(ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
                ZYAN_SUCCESS(ZydisDecoderEnableMode(&d, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE)); /* nops */
    if (!n || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, bytes, n, &p->z, p->op)))
        return false;
    if (p->z.mnemonic == ZYDIS_MNEMONIC_XABORT) { /* for Zydis it is a branch */
        p->z.meta.category = ZYDIS_CATEGORY_NOP;
        p->z.meta.branch_type = ZYDIS_BRANCH_TYPE_NONE;
    }
    return true;
}

static bool piece_at(const struct bench *b, u64 at, struct piece *p)
{
    p->at = at;
    size_t n = emitted_from(b, at);
    return n && decode_bytes(wire + WIRE_CACHE_OFF + (at - cache_of(b)), n, p);
}

static u64 behind(const struct piece *p)
{
    return p->at + p->z.length;
}

static bool is_direct(const struct piece *p)
{
    return p->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static u64 branch_target(const struct piece *p)
{
    return behind(p) + (u64)p->op[0].imm.value.s;
}

/* A branch that missed; or the same with rcx in r10. */
static bool is_miss(const struct guest_points *g, u64 at)
{
    return at == g->indirect || at == g->landing || at == g->indirect - MISS_MOVE || at == g->landing - MISS_MOVE;
}

static bool is_guest_point(const struct bench *b, u64 at)
{
    const struct guest_points *g = &b->config.guest;
    return at == g->exit || at == g->gate || at == g->state || is_miss(g, at) ||
           at == g->syscall;
}

static void view_fault(struct view *v, u64 at, const char *what)
{
    if (!v->fault) {
        v->fault = what;
        v->fault_at = at;
    }
}

/* The operand of a nop may hide the way out of a door: a jump. See emit_leave_unless_one. */
static u32 own_bytes(const struct piece *p)
{
    enum { NOP_OPCODE = 3, JMP = 0xe9 };
    bool hides = p->z.mnemonic == ZYDIS_MNEMONIC_NOP && p->z.raw.sib.offset == NOP_OPCODE && p->z.length == NOP_OPCODE + 5 &&
                 (p->z.raw.sib.scale << 6 | p->z.raw.sib.index << 3 | p->z.raw.sib.base) == JMP;
    return hides ? NOP_OPCODE : p->z.length;
}

/* Mark the bytes of one instruction: 1 its first, 2 the others. */
static bool mark_piece(const struct bench *b, const struct piece *p)
{
    u8 *s = seen + (p->at - cache_of(b));
    for (u32 i = 0; i < own_bytes(p); i++) {
        if (s[i])
            return false;
        s[i] = i ? 2 : 1;
    }
    return true;
}

/* Put what may run after an instruction on the list. */
static void follow(const struct bench *b, struct view *v, const struct piece *p)
{
    ZydisInstructionCategory c = p->z.meta.category;
    bool branches = c == ZYDIS_CATEGORY_COND_BR || c == ZYDIS_CATEGORY_UNCOND_BR || c == ZYDIS_CATEGORY_CALL;
    bool goes_on = c != ZYDIS_CATEGORY_UNCOND_BR && c != ZYDIS_CATEGORY_RET;
    if (branches && !is_direct(p)) {
        /* The only indirect branch of emitted code is the jump through the jump table. */
        if (c != ZYDIS_CATEGORY_UNCOND_BR || p->op[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
            p->op[0].reg.value != ZYDIS_REGISTER_R10)
            view_fault(v, p->at, "an indirect branch that is not ours");
        return;
    }
    if (branches) {
        u64 to = branch_target(p);
        if (in_cache(b, to))
            vec_push(&v->todo, to);
        else if (!is_guest_point(b, to))
            view_fault(v, p->at, "a branch to nowhere");
        /* These two come back behind the jump. */
        goes_on |= to == b->config.guest.syscall;
    }
    if (goes_on)
        vec_push(&v->todo, behind(p));
}

static int by_address(const void *x, const void *y)
{
    u64 a = *(const u64 *)x, b = *(const u64 *)y;
    return (a > b) - (a < b);
}

static void push_offset(const struct bench *b, struct view *v, u32 offset)
{
    if (offset)
        vec_push(&v->todo, cache_of(b) + offset);
}

/* Does an exit belong to a unit that is in use? A dropped one keeps its number, and its exits lead anywhere. */
static bool is_current(struct bench *b, u32 exit)
{
    u32 unit = b->table->exits.v[exit].unit;
    return place_of(b, b->table->units.v[unit].pc).unit == unit + 1;
}

/* Walk everything that the tables lead to. */
static void view_open(struct bench *b, struct view *v)
{
    *v = (struct view){0};
    madvise(seen, WIRE_CACHE_SIZE, MADV_DONTNEED);
    for (u32 i = 0; i < b->t->places.cap; i++) {
        const struct place *p = &b->t->places.v[i];
        if (!p->pc)
            continue;
        if (p->unit) {
            push_offset(b, v, p->entry);
            push_offset(b, v, p->inner);
        }
        push_offset(b, v, p->door);
        push_offset(b, v, p->landing);
    }
    for (size_t i = 0; i < b->table->exits.n; i++)
        if (is_current(b, (u32)i))
            push_offset(b, v, b->t->links[i].stub);
    while (v->todo.n) {
        u64 at = v->todo.v[--v->todo.n];
        struct piece p;
        if (in_cache(b, at) && seen[at - cache_of(b)] == 1)
            continue;
        if (!piece_at(b, at, &p))
            view_fault(v, at, "not an instruction, or not in emitted code");
        else if (!mark_piece(b, &p))
            view_fault(v, at, "two instructions overlap");
        if (v->fault)
            break;
        vec_push(&v->at, at);
        follow(b, v, &p);
    }
    qsort(v->at.v, v->at.n, sizeof v->at.v[0], by_address);
}

static void view_close(struct view *v)
{
    vec_fini(&v->at);
    vec_fini(&v->todo);
}

#define CHECK_VIEW(b, v)                                                                           \
    CHECK_CASE(!(v)->fault, "at cache offset 0x%lx: %s", (unsigned long)((v)->fault_at - cache_of(b)), (v)->fault)

/* Everything there is to check of any translation. */
#define CHECK_SOUND(b)                                                                             \
    do {                                                                                           \
        struct view all;                                                                           \
        const char *fault = unit_table_fault((b)->table);                                          \
        CHECK_CASE(!fault, "%s", fault);                                                           \
        view_open(b, &all);                                                                        \
        CHECK_VIEW(b, &all);                                                                       \
        view_close(&all);                                                                          \
    } while (0)

/* The n-th emitted instruction with this mnemonic, by address. */
static bool find(struct bench *b, ZydisMnemonic m, u32 n, struct piece *p)
{
    struct view v;
    bool found = false;
    view_open(b, &v);
    for (size_t i = 0; i < v.at.n && !found; i++)
        found = piece_at(b, v.at.v[i], p) && p->z.mnemonic == m && n-- == 0;
    view_close(&v);
    return found;
}

static u32 count(struct bench *b, ZydisMnemonic m)
{
    struct piece p;
    u32 n = 0;
    while (find(b, m, n, &p))
        n++;
    return n;
}

static const ZydisDecodedOperand *memory_of(const struct piece *p)
{
    for (int i = 0; i < p->z.operand_count; i++)
        if (p->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
            return &p->op[i];
    return NULL;
}

static bool is_reg(const ZydisDecodedOperand *o, ZydisRegister r)
{
    return o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->reg.value == r;
}

/* Where does control go from here, when nothing is linked? Passes headers, advances and jumps up to the stub that asks
 * the host; the exit id it asks for, or 0. */
static u32 asked_exit(const struct bench *b, u64 at)
{
    struct piece p, next;
    for (int i = 0; i < 16 && piece_at(b, at, &p); i++) {
        if (p.z.mnemonic == ZYDIS_MNEMONIC_MOV && is_reg(&p.op[0], ZYDIS_REGISTER_R11D)) {
            bool to_guest = piece_at(b, behind(&p), &next) && next.z.mnemonic == ZYDIS_MNEMONIC_JMP &&
                            is_direct(&next) && branch_target(&next) == b->config.guest.exit;
            return to_guest ? (u32)p.op[1].imm.value.u : 0;
        }
        at = p.z.mnemonic == ZYDIS_MNEMONIC_JMP && is_direct(&p) ? branch_target(&p) : behind(&p);
    }
    return 0;
}

static u64 asked_target(const struct bench *b, u64 at)
{
    u32 id = asked_exit(b, at);
    return id < FIRST_EXIT_ID || id - FIRST_EXIT_ID >= b->table->exits.n ? 0
                                                                        : b->table->exits.v[id - FIRST_EXIT_ID].target;
}

/* Where the patchable jump of an exit leads now. */
static u64 led_to(const struct bench *b, u32 exit)
{
    u32 site = b->t->links[exit].site;
    s32 rel;
    memcpy(&rel, wire + WIRE_CACHE_OFF + site, 4);
    return cache_of(b) + site + 4 + (u64)(s64)rel;
}

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

CODE(members, "mov rax, [rdi]; mov ecx, [rdi + 8]; mov [rdi + 16], al; add word ptr [rdi - 2], 1; ret")
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

CODE(steps, "mov rax, [rdi]; lea rsi, [rdi + 8]; add rsi, 16; mov rdx, rsi; sub rdx, 4; inc rdx; dec rsi\n"
            "mov ecx, [rdx]; mov ecx, [rsi]; lea r8, [rdi + rsi * 4 + 1]; mov al, [r8 + 2]; ret")
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
CODE(left_as_sum, "mov cl, [rax]; lea rsp, [rsp + rax]; jz 2f; nop; 2: nop")
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

CODE(branches, "push rax; jz 1f; pop rax; jmp 2f; 1: nop; nop; 2: mov al, [rdi]; js 1b; nop")
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

CODE(calls, "push rax; call 1f; nop; 1: call [rdi + 8]; nop; ret 16")
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

CODE(kernel, "mov eax, 60; syscall; nop; mov fs, eax; nop; wrgsbase rbx; nop")
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

CODE(special, "rep movsb\nrepne scasw\nbt [rdi], rax\nxlatb\nvmaskmovps ymm1, ymm2, [rsi]\n"
              "vpgatherdd xmm1, [rax + xmm2 * 4], xmm3\nvmovups zmm1{k1}, [rcx]\nvpgatherqq zmm1{k2}, [rbx + zmm3]\n"
              "xsave [rdx]\nxrstor [rdx]\nclzero\nmaskmovdqu xmm0, xmm1\nvpcompressd [rsi]{k3}, zmm1\n"
              "vaddps zmm1{k1}, zmm2, [rcx]{1to16}\nenter 16, 3\nmov eax, fs:[0x28]\nmov eax, gs:[rbx]\nret")
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

CODE(straight, ".rept 500; nop; .endr; ret")
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

/* More branches than a unit has room for, whatever the setting allows. */
CODE(many_branches, ".rept 80; jz 1f; .endr; 1: ret")
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

CODE(far_data, "add eax, [rip + 0x1000]; cmp byte ptr [rip + 0x3000], 5; mov edx, [rip + 0x3500]; mov r9, [rip + 0x3600]\n"
               "mov rbp, [rip + 0x3700]; mov r13, [rip + 0x3800]; mov r12, [rip + 0x3900]; mov r13d, [rip + 0x3a00]\n"
               "mov dword ptr [rip + 0x4000], 0x12345678; movups xmm1, [rip + 0x5000]; vmovups ymm1, [rip + 0x6000]\n"
               "vaddpd zmm1, zmm2, [rip + 0x7000]; mov edx, fs:[rip + 0x8000]; shld [rip + 0x9000], ecx, 3\n"
               "imul eax, [rip + 0xa000], 1000; vpalignr xmm1, xmm2, [rip + 0xb000], 3; push [rip + 0xc000]\n"
               "pop [rip + 0xd000]; mov rax, gs:[rip + 0xd800]; jmp [rip + 0xe000]")
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

/* push [rip + x] where x holds the return address of one of the program's calls. */
static bool pushes_return_address(const struct bench *b, const struct piece *p)
{
    const ZydisDecodedOperand *m = &p->op[0];
    if (p->z.mnemonic != ZYDIS_MNEMONIC_PUSH || m->type != ZYDIS_OPERAND_TYPE_MEMORY ||
        m->mem.base != ZYDIS_REGISTER_RIP || !emitted_from(b, behind(p) + (u64)m->mem.disp.value))
        return false;
    u64 address;
    memcpy(&address, wire + WIRE_CACHE_OFF + (behind(p) + (u64)m->mem.disp.value - cache_of(b)), 8);
    for (size_t i = 0; i < b->table->insns.n; i++) {
        const struct unit_insn *in = &b->table->insns.v[i];
        struct piece app;
        if (in->pc + in->len == address && decode_bytes(b->table->code.v + in->bytes, in->len, &app) &&
            app.z.meta.category == ZYDIS_CATEGORY_CALL)
            return true;
    }
    return false;
}

CODE(stack, "push rax; push [rdi]; pushfq; push 5; push rsp; enter 16, 0; mov rax, gs:[8]; cmp eax, [rip + 0x123]\n"
            "mov r11, [r11 + 8]; call 1f; nop; jz 1f; call rax; call [rdx]; rep stosb; loop 2f; nop; 2: syscall\n"
            "ret; 1: popfq; leave; ret 8")
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

CODE(r11, "mov r11, rax; mov rax, r11; add [r11], rax; mov rcx, [r11 + rdx * 4]; mov rcx, [rdx + r11 * 8 + 3]\n"
          "push r11; pop r11; xchg r11, rax; bswap r11; mov r11d, 5; mov r11b, [rdi]; movabs r11, 0x123456789abcdef\n"
          "andn rcx, r11, rdx; vmovd xmm1, r11d; vmovups ymm1, [r11 + 32]; vmovups zmm1, [r11 + 64]\n"
          "vpgatherdd xmm1, [r11 + xmm2 * 4], xmm3; cmpxchg16b [r11]; lock xadd [r11], r11; lea r11, [r11 + r11 * 2]\n"
          "cmovz r11, [r11]; mov fs:[r11], r11; mov gs:[r11 + 8], r11; mov r11, [rip + 0x77]; add [rip + 0x88], r11\n"
          "bt [r11], r11; div r11; shl r11, cl; call r11; nop; call [r11]; nop; jmp [r11 + 8]; rdgsbase r11\n"
          "wrgsbase r11; nop; wrfsbase r11; nop; rdfsbase r11; mov gs, r11d; nop; xrstor [r11]; xsave [r11 + rcx]\n"
          "crc32 r11, byte ptr [r11]; jmp r11")
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

static void ask_for_much(struct bench *b)
{
    for (u64 at = b->pc; at < b->pc + b->size; at += 0x300) {
        ask(b, at + at / 0x100 % 7, at / 0x100 % 3);
        while (translate_ahead(b->t))
            ;
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
    translate_drop(used.t, from, from + size / 8);
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
    wire = reserve(WIRE_SIZE);
    seen = reserve(WIRE_CACHE_SIZE);
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
    return test_end("translate");
}
