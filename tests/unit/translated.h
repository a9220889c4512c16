/* SPDX-License-Identifier: MIT */
/* A translator on plain bytes, for tests, and what it makes of them in the cache: looked at from outside, walked with Zydis from every entry along every
 * branch. */
#ifndef TRANSLATED_H
#define TRANSLATED_H

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

static inline void *reserve(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(p != MAP_FAILED);
    return p;
}

static inline size_t fetch(void *ctx, u64 pc, u8 *buf, size_t n)
{
    const struct bench *b = ctx;
    if (pc < b->pc || pc - b->pc >= b->size)
        return 0;
    n = MIN(n, b->size - (pc - b->pc));
    memcpy(buf, b->code + (pc - b->pc), n);
    return n;
}

static inline u64 guest_point(u64 base, u64 n)
{
    return base + WIRE_GUEST_OFF + 0x100 * n;
}

/* Make a translator for the code; fields of the setup that are zero get a default. */
static inline void bench_open(struct bench *b, const u8 *code, size_t size, u64 pc, struct translate_config setup)
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

static inline void bench_close(struct bench *b)
{
    translator_free(b->t);
}

static inline u64 ask(struct bench *b, u64 pc, enum arrival by)
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

static inline const struct unit *unit_at(const struct bench *b, u64 pc)
{
    for (size_t i = 0; i < b->table->units.n; i++)
        if (b->table->units.v[i].pc == pc)
            return &b->table->units.v[i];
    return NULL;
}

static inline const struct ref *ref_of(const struct bench *b, const struct unit *u, u32 k)
{
    return &b->table->refs.v[u->ref0 + k];
}

static inline const struct unit_exit *exit_of(const struct bench *b, const struct unit *u, u32 k)
{
    return &b->table->exits.v[u->exit0 + k];
}

/* The last exit: behind the whole path. Calls have a landing after it. */
static inline const struct unit_exit *last_exit(const struct bench *b, const struct unit *u)
{
    u32 k = u->n_exits - 1;
    return exit_of(b, u, exit_of(b, u, k)->kind == EXIT_LANDING ? k - 1 : k);
}

static inline struct place place_of(struct bench *b, u64 pc)
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

static inline u64 cache_of(const struct bench *b)
{
    return b->config.base + WIRE_CACHE_OFF;
}

/* How many emitted bytes there are from a cache address on; 0 if it is not in emitted code. */
static inline size_t emitted_from(const struct bench *b, u64 at)
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

static inline bool in_cache(const struct bench *b, u64 at)
{
    return at - cache_of(b) < WIRE_CACHE_SIZE;
}

static inline bool decode_bytes(const u8 *bytes, size_t n, struct piece *p)
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

static inline bool piece_at(const struct bench *b, u64 at, struct piece *p)
{
    p->at = at;
    size_t n = emitted_from(b, at);
    return n && decode_bytes(wire + WIRE_CACHE_OFF + (at - cache_of(b)), n, p);
}

static inline u64 behind(const struct piece *p)
{
    return p->at + p->z.length;
}

static inline bool is_direct(const struct piece *p)
{
    return p->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static inline u64 branch_target(const struct piece *p)
{
    return behind(p) + (u64)p->op[0].imm.value.s;
}

/* A branch that missed; or the same with rcx in r10. */
static inline bool is_miss(const struct guest_points *g, u64 at)
{
    return at == g->indirect || at == g->landing || at == g->indirect - MISS_MOVE || at == g->landing - MISS_MOVE;
}

static inline bool is_guest_point(const struct bench *b, u64 at)
{
    const struct guest_points *g = &b->config.guest;
    return at == g->exit || at == g->gate || at == g->state || is_miss(g, at) ||
           at == g->syscall;
}

static inline void view_fault(struct view *v, u64 at, const char *what)
{
    if (!v->fault) {
        v->fault = what;
        v->fault_at = at;
    }
}

/* The operand of a nop may hide the way out of a door: a jump. See emit_leave_unless_one. */
static inline u32 own_bytes(const struct piece *p)
{
    enum { NOP_OPCODE = 3, JMP = 0xe9 };
    bool hides = p->z.mnemonic == ZYDIS_MNEMONIC_NOP && p->z.raw.sib.offset == NOP_OPCODE && p->z.length == NOP_OPCODE + 5 &&
                 (p->z.raw.sib.scale << 6 | p->z.raw.sib.index << 3 | p->z.raw.sib.base) == JMP;
    return hides ? NOP_OPCODE : p->z.length;
}

/* Mark the bytes of one instruction: 1 its first, 2 the others. */
static inline bool mark_piece(const struct bench *b, const struct piece *p)
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
static inline void follow(const struct bench *b, struct view *v, const struct piece *p)
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

static inline int by_address(const void *x, const void *y)
{
    u64 a = *(const u64 *)x, b = *(const u64 *)y;
    return (a > b) - (a < b);
}

static inline void push_offset(const struct bench *b, struct view *v, u32 offset)
{
    if (offset)
        vec_push(&v->todo, cache_of(b) + offset);
}

/* Does an exit belong to a unit that is in use? A dropped one keeps its number, and its exits lead anywhere. */
static inline bool is_current(struct bench *b, u32 exit)
{
    u32 unit = b->table->exits.v[exit].unit;
    return place_of(b, b->table->units.v[unit].pc).unit == unit + 1;
}

/* Walk everything that the tables lead to. */
static inline void view_open(struct bench *b, struct view *v)
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

static inline void view_close(struct view *v)
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
static inline bool find(struct bench *b, ZydisMnemonic m, u32 n, struct piece *p)
{
    struct view v;
    bool found = false;
    view_open(b, &v);
    for (size_t i = 0; i < v.at.n && !found; i++)
        found = piece_at(b, v.at.v[i], p) && p->z.mnemonic == m && n-- == 0;
    view_close(&v);
    return found;
}

static inline u32 count(struct bench *b, ZydisMnemonic m)
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

static inline bool is_reg(const ZydisDecodedOperand *o, ZydisRegister r)
{
    return o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->reg.value == r;
}

/* Where does control go from here, when nothing is linked? Passes headers, advances and jumps up to the stub that asks
 * the host; the exit id it asks for, or 0. */
static inline u32 asked_exit(const struct bench *b, u64 at)
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

static inline u64 asked_target(const struct bench *b, u64 at)
{
    u32 id = asked_exit(b, at);
    return id < FIRST_EXIT_ID || id - FIRST_EXIT_ID >= b->table->exits.n ? 0
                                                                        : b->table->exits.v[id - FIRST_EXIT_ID].target;
}

/* Where the patchable jump of an exit leads now. */
static inline u64 led_to(const struct bench *b, u32 exit)
{
    u32 site = b->t->links[exit].site;
    s32 rel;
    memcpy(&rel, wire + WIRE_CACHE_OFF + site, 4);
    return cache_of(b) + site + 4 + (u64)(s64)rel;
}

/* push [rip + x] where x holds the return address of one of the program's calls. */
static inline bool pushes_return_address(const struct bench *b, const struct piece *p)
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

/* -- Code that several look at ------------------------------------------------------------------ */

CODE(members, "mov rax, [rdi]; mov ecx, [rdi + 8]; mov [rdi + 16], al; add word ptr [rdi - 2], 1; ret")
CODE(steps, "mov rax, [rdi]; lea rsi, [rdi + 8]; add rsi, 16; mov rdx, rsi; sub rdx, 4; inc rdx; dec rsi\n"
            "mov ecx, [rdx]; mov ecx, [rsi]; lea r8, [rdi + rsi * 4 + 1]; mov al, [r8 + 2]; ret")
CODE(left_as_sum, "mov cl, [rax]; lea rsp, [rsp + rax]; jz 2f; nop; 2: nop")
CODE(branches, "push rax; jz 1f; pop rax; jmp 2f; 1: nop; nop; 2: mov al, [rdi]; js 1b; nop")
CODE(calls, "push rax; call 1f; nop; 1: call [rdi + 8]; nop; ret 16")
CODE(kernel, "mov eax, 60; syscall; nop; mov fs, eax; nop; wrgsbase rbx; nop")
CODE(special, "rep movsb\nrepne scasw\nbt [rdi], rax\nxlatb\nvmaskmovps ymm1, ymm2, [rsi]\n"
              "vpgatherdd xmm1, [rax + xmm2 * 4], xmm3\nvmovups zmm1{k1}, [rcx]\nvpgatherqq zmm1{k2}, [rbx + zmm3]\n"
              "xsave [rdx]\nxrstor [rdx]\nclzero\nmaskmovdqu xmm0, xmm1\nvpcompressd [rsi]{k3}, zmm1\n"
              "vaddps zmm1{k1}, zmm2, [rcx]{1to16}\nenter 16, 3\nmov eax, fs:[0x28]\nmov eax, gs:[rbx]\nret")
CODE(straight, ".rept 500; nop; .endr; ret")
/* More branches than a unit has room for, whatever the setting allows. */
CODE(many_branches, ".rept 80; jz 1f; .endr; 1: ret")
CODE(far_data, "add eax, [rip + 0x1000]; cmp byte ptr [rip + 0x3000], 5; mov edx, [rip + 0x3500]; mov r9, [rip + 0x3600]\n"
               "mov rbp, [rip + 0x3700]; mov r13, [rip + 0x3800]; mov r12, [rip + 0x3900]; mov r13d, [rip + 0x3a00]\n"
               "mov dword ptr [rip + 0x4000], 0x12345678; movups xmm1, [rip + 0x5000]; vmovups ymm1, [rip + 0x6000]\n"
               "vaddpd zmm1, zmm2, [rip + 0x7000]; mov edx, fs:[rip + 0x8000]; shld [rip + 0x9000], ecx, 3\n"
               "imul eax, [rip + 0xa000], 1000; vpalignr xmm1, xmm2, [rip + 0xb000], 3; push [rip + 0xc000]\n"
               "pop [rip + 0xd000]; mov rax, gs:[rip + 0xd800]; jmp [rip + 0xe000]")
CODE(stack, "push rax; push [rdi]; pushfq; push 5; push rsp; enter 16, 0; mov rax, gs:[8]; cmp eax, [rip + 0x123]\n"
            "mov r11, [r11 + 8]; call 1f; nop; jz 1f; call rax; call [rdx]; rep stosb; loop 2f; nop; 2: syscall\n"
            "ret; 1: popfq; leave; ret 8")
CODE(r11, "mov r11, rax; mov rax, r11; add [r11], rax; mov rcx, [r11 + rdx * 4]; mov rcx, [rdx + r11 * 8 + 3]\n"
          "push r11; pop r11; xchg r11, rax; bswap r11; mov r11d, 5; mov r11b, [rdi]; movabs r11, 0x123456789abcdef\n"
          "andn rcx, r11, rdx; vmovd xmm1, r11d; vmovups ymm1, [r11 + 32]; vmovups zmm1, [r11 + 64]\n"
          "vpgatherdd xmm1, [r11 + xmm2 * 4], xmm3; cmpxchg16b [r11]; lock xadd [r11], r11; lea r11, [r11 + r11 * 2]\n"
          "cmovz r11, [r11]; mov fs:[r11], r11; mov gs:[r11 + 8], r11; mov r11, [rip + 0x77]; add [rip + 0x88], r11\n"
          "bt [r11], r11; div r11; shl r11, cl; call r11; nop; call [r11]; nop; jmp [r11 + 8]; rdgsbase r11\n"
          "wrgsbase r11; nop; wrfsbase r11; nop; rdfsbase r11; mov gs, r11d; nop; xrstor [r11]; xsave [r11 + rcx]\n"
          "crc32 r11, byte ptr [r11]; jmp r11")

static inline void translated_begin(void)
{
    wire = reserve(WIRE_SIZE);
    seen = reserve(WIRE_CACHE_SIZE);
}

#endif
