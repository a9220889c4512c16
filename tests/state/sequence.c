/* SPDX-License-Identifier: MIT */
/* Random programs: forms from forms.c, and around them branches, loops, calls, stacks and state.
 *
 * A sequence is a block, the way out, the functions that were called, and the addresses that jumps
 * go through. A block is a number of items; what an item does to the stack pointer it undoes, and
 * what a branch skips is forgotten where the ways meet. */
#include "sequence.h"
#include "forms.h"

#include <string.h>

enum { FUNCTION_LIMIT = 4, LITERAL_LIMIT = 24, FLAGS_MAKE = 0xcd5 };

enum function_kind { F_PLAIN, F_SKIPS, F_POPS, F_TAIL, F_RECURSES, FUNCTION_KINDS };

struct function {
    enum function_kind kind;
    u32 label;
    u32 pops;     /* bytes of arguments that it takes off the stack */
    u16 reserved; /* what its callers need unchanged */
    s32 depth;    /* of the deepest of them */
};

struct maker {
    struct code *c;
    u32 nest;
    u32 first_callable; /* functions call only later ones */
    u32 n_functions, n_literals;
    struct function function[FUNCTION_LIMIT];
    struct {
        u32 label, target;
    } literal[LITERAL_LIMIT];
};

static void block(struct maker *m, u32 items);

#define OP(name, ...)                                                                   \
    code_op(c, ZYDIS_MNEMONIC_##name,                                                   \
            sizeof((ZydisEncoderOperand[]){__VA_ARGS__}) / sizeof(ZydisEncoderOperand), \
            __VA_ARGS__)
#define R64(r) reg_op(gpr(r, 64))
#define R32(r) reg_op(gpr(r, 32))
#define I(x)   imm_op(x)

static bool is_free(const struct code *c, u8 r)
{
    return !(c->reserved >> r & 1);
}

static u32 branch_bits(struct maker *m)
{
    return rng_percent(&m->c->rng, 40) ? 8 : 32;
}

static ZydisMnemonic some_jcc(struct rng *r)
{
    static const ZydisMnemonic all[] = {
        ZYDIS_MNEMONIC_JB,  ZYDIS_MNEMONIC_JBE,  ZYDIS_MNEMONIC_JL,  ZYDIS_MNEMONIC_JLE,
        ZYDIS_MNEMONIC_JNB, ZYDIS_MNEMONIC_JNBE, ZYDIS_MNEMONIC_JNL, ZYDIS_MNEMONIC_JNLE,
        ZYDIS_MNEMONIC_JNO, ZYDIS_MNEMONIC_JNP,  ZYDIS_MNEMONIC_JNS, ZYDIS_MNEMONIC_JNZ,
        ZYDIS_MNEMONIC_JO,  ZYDIS_MNEMONIC_JP,   ZYDIS_MNEMONIC_JS,  ZYDIS_MNEMONIC_JZ};
    return all[rng_below(r, ARRAY_LEN(all))];
}

/* -- The stack pointer ------------------------------------------------------------------------- */

static void move_rsp(struct code *c, s32 by)
{
    c->may_move_rsp = true;
    if (rng_percent(&c->rng, 50))
        OP(LEA, R64(RSP), mem_op(RSP, by, 8));
    else if (rng_percent(&c->rng, 50))
        OP(ADD, R64(RSP), I(by));
    else
        OP(SUB, R64(RSP), I(-by));
    c->may_move_rsp = false;
    c->depth -= by;
}

static void item_move_rsp(struct maker *m)
{
    struct code *c = m->c;
    if (c->depth < 800)
        move_rsp(c, -8 * rng_between(&c->rng, 1, 12));
}

/* A block on another stack, on an aligned one, or further down; then back. */
static void item_other_stack(struct maker *m)
{
    struct code *c = m->c;
    u8 r = pick_register(c);
    u16 reserved = c->reserved;
    s32 depth = c->depth;
    bool was_odd = c->odd_stack;
    OP(MOV, R64(r), R64(RSP));
    c->reserved |= (u16)(1u << r);
    c->may_move_rsp = true;
    switch (rng_below(&c->rng, 4)) {
    case 0:
        OP(AND, R64(RSP), I(-64));
        break;
    case 1:
        OP(MOV, R64(RSP), I(HIGH_AT + 3000));
        break;
    case 2:
        OP(MOV, R32(RSP), I(LOW_AT + 3000));
        break;
    default:
        OP(LEA, R64(RSP), mem_op(r, -160, 8));
        break;
    }
    c->may_move_rsp = false;
    c->odd_stack = true;
    block(m, rng_below(&c->rng, 4));
    c->may_move_rsp = true;
    if (rng_percent(&c->rng, 30))
        OP(XCHG, R64(RSP), R64(r));
    else if (rng_percent(&c->rng, 30))
        OP(LEA, R64(RSP), mem_op(r, 0, 8));
    else
        OP(MOV, R64(RSP), R64(r));
    c->may_move_rsp = false;
    c->reserved = reserved;
    c->depth = depth;
    c->odd_stack = was_odd;
}

static void item_odd_pop(struct maker *m)
{
    struct code *c = m->c;
    c->may_move_rsp = true;
    if (rng_percent(&c->rng, 50)) {
        OP(PUSH, R64(RSP));
        OP(POP, R64(RSP));
    } else {
        OP(MOV, mem_op(RSP, -24, 8), R64(RSP));
        OP(MOV, R64(RSP), mem_op(RSP, -24, 8));
    }
    c->may_move_rsp = false;
}

static void item_frame(struct maker *m)
{
    struct code *c = m->c;
    u32 level = rng_percent(&c->rng, 10) ? rng_below(&c->rng, 32) : rng_below(&c->rng, 4);
    u32 room = 8 * rng_below(&c->rng, 9);
    u16 reserved = c->reserved;
    s32 depth = c->depth;
    if (!is_free(c, RBP) || c->depth > 500)
        return;
    if (rng_percent(&c->rng, 60)) {
        need_pointer(c, RBP, false, false);
        OP(ENTER, I(room), I(level));
        c->depth += (s32)(8 + 8 * level + room);
    } else {
        OP(PUSH, R64(RBP));
        OP(MOV, R64(RBP), R64(RSP));
        move_rsp(c, -(s32)room - 8);
    }
    c->reserved |= 1u << RBP;
    block(m, 1 + rng_below(&c->rng, 3));
    c->reserved = reserved;
    code_op(c, ZYDIS_MNEMONIC_LEAVE, 0);
    c->depth = depth;
    forget(c, RBP);
}

/* -- Flags ------------------------------------------------------------------------------------- */

static void item_flags(struct maker *m)
{
    struct code *c = m->c;
    s64 bits = (s64)(rng_next(&c->rng) & FLAGS_MAKE);
    if (c->depth > 900)
        return;
    switch (rng_below(&c->rng, 4)) {
    case 0:
        code_op(c, ZYDIS_MNEMONIC_PUSHFQ, 0);
        OP(POP, R64(pick_register(c)));
        break;
    case 1:
        OP(PUSH, I(bits | 2));
        code_op(c, ZYDIS_MNEMONIC_POPFQ, 0);
        break;
    case 2:
        code_op(c, ZYDIS_MNEMONIC_PUSHFQ, 0);
        OP(XOR, mem_op(RSP, 0, 8), I(bits));
        code_op(c, ZYDIS_MNEMONIC_POPFQ, 0);
        break;
    default:
        code_op(c, ZYDIS_MNEMONIC_PUSHF, 0);
        OP(XOR, mem_op(RSP, 0, 2), I(bits));
        code_op(c, ZYDIS_MNEMONIC_POPF, 0);
        break;
    }
}

/* -- Branches and loops ------------------------------------------------------------------------ */

/* A condition jumps over a block; perhaps to another one. */
static void item_if(struct maker *m)
{
    struct code *c = m->c;
    u32 other = label_new(c), end = label_new(c);
    struct know know[16];
    bool has_else = rng_percent(&c->rng, 30);
    code_branch(c, some_jcc(&c->rng), other, branch_bits(m));
    memcpy(know, c->know, sizeof know);
    block(m, 1 + rng_below(&c->rng, 3));
    if (has_else)
        code_branch(c, ZYDIS_MNEMONIC_JMP, end, branch_bits(m));
    label_here(c, other);
    if (has_else) {
        struct know first[16];
        memcpy(first, c->know, sizeof first);
        memcpy(c->know, know, sizeof know);
        block(m, 1 + rng_below(&c->rng, 3));
        memcpy(know, first, sizeof know);
    }
    know_meet(c, know);
    label_here(c, end);
}

/* jrcxz, jecxz, loop and its kin, all forward. */
static void item_if_count(struct maker *m)
{
    static const ZydisMnemonic all[] = {ZYDIS_MNEMONIC_JRCXZ, ZYDIS_MNEMONIC_JECXZ,
                                        ZYDIS_MNEMONIC_LOOP, ZYDIS_MNEMONIC_LOOPE,
                                        ZYDIS_MNEMONIC_LOOPNE};
    struct code *c = m->c;
    u32 end = label_new(c);
    u32 which = rng_below(&c->rng, is_free(c, RCX) ? 5 : 2);
    struct know know[16];
    if (is_free(c, RCX) && rng_percent(&c->rng, 60))
        OP(MOV, R32(RCX), I(rng_below(&c->rng, 2)));
    code_branch(c, all[which], end, 8);
    memcpy(know, c->know, sizeof know);
    block(m, 1 + rng_below(&c->rng, 2));
    know_meet(c, know);
    label_here(c, end);
}

/* In a loop only what stays the same is known at its head: keep a few registers, forget the rest. */
static void keep_some(struct code *c)
{
    for (u8 r = 0; r < 16; r++) {
        if (c->know[r].kind != NOTHING && rng_percent(&c->rng, 40))
            c->reserved |= (u16)(1u << r);
        else if (is_free(c, r))
            forget(c, r);
    }
}

enum loop_kind { LOOP_DOWN, LOOP_UP, LOOP_MEMORY, LOOP_RCX, LOOP_KINDS };

static void branch_indirect(struct maker *m, ZydisMnemonic branch, u32 label);

/* Back to the head of a loop while the condition holds, straight or in a roundabout way. */
static void branch_back(struct maker *m, ZydisMnemonic holds, ZydisMnemonic fails, u32 head)
{
    struct code *c = m->c;
    u32 out = label_new(c);
    if (rng_percent(&c->rng, 60)) {
        code_branch(c, holds, head, branch_bits(m));
        return;
    }
    code_branch(c, fails, out, 32);
    if (rng_percent(&c->rng, 50))
        code_branch(c, ZYDIS_MNEMONIC_JMP, head, branch_bits(m));
    else
        branch_indirect(m, ZYDIS_MNEMONIC_JMP, head);
    label_here(c, out);
}

static void end_loop(struct maker *m, enum loop_kind kind, u8 r, u64 counter, s64 n, u32 head)
{
    static const ZydisMnemonic loops[] = {ZYDIS_MNEMONIC_LOOP, ZYDIS_MNEMONIC_LOOP,
                                          ZYDIS_MNEMONIC_LOOPE, ZYDIS_MNEMONIC_LOOPNE};
    struct code *c = m->c;
    u16 reserved = c->reserved;
    struct place p;
    if (kind != LOOP_MEMORY)
        c->reserved &= (u16) ~(1u << r);
    switch (kind) {
    case LOOP_DOWN:
        OP(DEC, rng_percent(&c->rng, 50) ? R64(r) : R32(r));
        c->reserved = reserved;
        branch_back(m, ZYDIS_MNEMONIC_JNZ, ZYDIS_MNEMONIC_JZ, head);
        break;
    case LOOP_UP:
        OP(INC, R64(r));
        OP(CMP, R64(r), I(n));
        c->reserved = reserved;
        branch_back(m, ZYDIS_MNEMONIC_JL, ZYDIS_MNEMONIC_JNL, head);
        break;
    case LOOP_MEMORY:
        p = pick_way(c, counter, 4);
        code_op_at(c, ZYDIS_MNEMONIC_DEC, &p, 1, p.op);
        branch_back(m, ZYDIS_MNEMONIC_JNZ, ZYDIS_MNEMONIC_JZ, head);
        break;
    default:
        code_branch(c, loops[rng_below(&c->rng, 4)], head, 8);
        break;
    }
    c->reserved = reserved;
}

static u64 some_counter(struct code *c)
{
    c->uses |= USES_SAVE;
    return COUNTERS_AT + 4 * (u64)rng_below(&c->rng, 64);
}

static void item_loop(struct maker *m)
{
    struct code *c = m->c;
    u16 reserved = c->reserved;
    enum loop_kind kind = rng_below(&c->rng, LOOP_KINDS);
    u8 r = kind == LOOP_RCX ? RCX : pick_register(c);
    s64 n = rng_between(&c->rng, 1, 5);
    u64 counter = 0;
    u32 head = label_new(c);
    if (!is_free(c, r))
        return;
    if (kind == LOOP_UP)
        OP(XOR, R32(r), R32(r));
    else if (kind != LOOP_MEMORY)
        OP(MOV, R32(r), I(n));
    keep_some(c);
    if (kind == LOOP_MEMORY) {
        counter = some_counter(c);
        OP(MOV, mem_op(NO_GPR, (s64)counter, 4), I(n));
    } else {
        c->reserved |= (u16)(1u << r);
    }
    label_here(c, head);
    block(m, 1 + rng_below(&c->rng, 4));
    end_loop(m, kind, r, counter, n, head);
    c->reserved = reserved;
}

/* -- Jumps to an address ----------------------------------------------------------------------- */

static u32 literal(struct maker *m, u32 target)
{
    u32 label = label_new(m->c);
    if (m->n_literals == LITERAL_LIMIT) {
        m->c->failed = true;
        return label;
    }
    m->literal[m->n_literals].label = label;
    m->literal[m->n_literals++].target = target;
    return label;
}

/* Jump or call through memory near the code. */
static void branch_literal(struct maker *m, ZydisMnemonic branch, u32 target)
{
    struct code *c = m->c;
    ZydisEncoderOperand o = mem_op(NO_GPR, (s64)code_here(c), 8);
    o.mem.base = ZYDIS_REGISTER_RIP;
    code_op(c, branch, 1, o);
    code_fix(c, FIX_REL32, c->n - 4, literal(m, target));
}

/* The address of a label in a register. */
static void load_label(struct code *c, u8 r, u32 label)
{
    if (c->base < HIGH_AT && rng_percent(&c->rng, 30)) {
        OP(MOV, R32(r), I(LOW_CODE_AT));
        code_fix(c, FIX_ABS32, c->n - 4, label);
    } else if (rng_percent(&c->rng, 30)) {
        OP(MOV, R64(r), I(HIGH_CODE_AT));
        code_fix(c, FIX_ABS64, c->n - 8, label);
    } else {
        code_lea_label(c, r, label);
    }
}

/* Go to a label by a jump or a call that does not name it. */
static void branch_indirect(struct maker *m, ZydisMnemonic branch, u32 label)
{
    struct code *c = m->c;
    u16 reserved = c->reserved;
    u8 r = pick_register(c);
    if (rng_percent(&c->rng, 15)) {
        branch_literal(m, branch, label);
        return;
    }
    load_label(c, r, label);
    if (rng_percent(&c->rng, 50)) {
        code_op(c, branch, 1, R64(r));
        return;
    }
    c->reserved |= (u16)(1u << r);
    struct place p = pick_place(c, 8, false, true);
    c->reserved = reserved;
    code_op_at(c, ZYDIS_MNEMONIC_MOV, &p, 2, p.op, R64(r));
    code_op_at(c, branch, &p, 1, p.op);
}

static void item_jump(struct maker *m)
{
    struct code *c = m->c;
    u32 end = label_new(c);
    u8 r;
    switch (rng_below(&c->rng, 4)) {
    case 0:
        r = pick_register(c);
        load_label(c, r, end);
        OP(PUSH, R64(r));
        code_op(c, ZYDIS_MNEMONIC_RET, 0);
        c->depth -= 8;
        break;
    case 1:
        if (c->base < HIGH_AT) {
            OP(PUSH, I(LOW_CODE_AT));
            code_fix(c, FIX_ABS32, c->n - 4, end);
            code_op(c, ZYDIS_MNEMONIC_RET, 0);
            c->depth -= 8;
            break;
        }
        /* fall through */
    default:
        branch_indirect(m, ZYDIS_MNEMONIC_JMP, end);
        break;
    }
    struct know know[16];
    memcpy(know, c->know, sizeof know);
    if (rng_percent(&c->rng, 50))
        block(m, 1);
    memcpy(c->know, know, sizeof know);
    label_here(c, end);
}

/* A jump table: which arm is taken depends on a register. */
static void item_switch(struct maker *m)
{
    struct code *c = m->c;
    u32 n = rng_percent(&c->rng, 50) ? 2 : 4, arm[4], table, end = label_new(c);
    u16 reserved = c->reserved;
    u8 index = pick_register(c);
    for (u32 i = 0; i < n; i++)
        arm[i] = label_new(c);
    table = literal(m, arm[0]);
    for (u32 i = 1; i < n; i++)
        literal(m, arm[i]);
    OP(AND, R32(index), I(n - 1));
    c->reserved |= (u16)(1u << index);
    u8 base = pick_register(c);
    c->reserved = reserved;
    code_lea_label(c, base, table);
    ZydisEncoderOperand o = mem_op(base, 0, 8);
    o.mem.index = gpr(index, 64);
    o.mem.scale = 8;
    if (rng_percent(&c->rng, 50)) {
        OP(JMP, o);
    } else {
        OP(MOV, R64(index), o);
        OP(JMP, R64(index));
    }
    struct know before[16], after[16];
    memcpy(before, c->know, sizeof before);
    for (u32 i = 0; i < n; i++) {
        memcpy(c->know, before, sizeof before);
        label_here(c, arm[i]);
        block(m, rng_below(&c->rng, 3));
        code_branch(c, ZYDIS_MNEMONIC_JMP, end, branch_bits(m));
        if (i)
            know_meet(c, after);
        memcpy(after, c->know, sizeof after);
    }
    label_here(c, end);
}

/* -- Functions --------------------------------------------------------------------------------- */

/* One that can be called from here; NULL if there is none and no room for another. */
static struct function *pick_function(struct maker *m)
{
    struct code *c = m->c;
    u32 n = m->n_functions - m->first_callable;
    if (n && rng_percent(&c->rng, 50))
        return &m->function[m->first_callable + rng_below(&c->rng, n)];
    if (m->n_functions == FUNCTION_LIMIT)
        return n ? &m->function[m->n_functions - 1] : NULL;
    struct function *f = &m->function[m->n_functions++];
    *f = (struct function){.kind = rng_below(&c->rng, FUNCTION_KINDS), .label = label_new(c)};
    f->pops = rng_percent(&c->rng, 30) ? 8 * (1 + rng_below(&c->rng, 3)) : 0;
    return f;
}

static u64 recursion_counter(const struct maker *m, const struct function *f)
{
    return COUNTERS_AT + 4 * (u64)(64 + (f - m->function));
}

static void push_arguments(struct code *c, u32 bytes)
{
    if (bytes && rng_percent(&c->rng, 30)) {
        move_rsp(c, -(s32)bytes);
        return;
    }
    for (u32 i = 0; i < bytes; i += 8)
        OP(PUSH, R64(pick_source(c)));
}

static void put_call(struct maker *m, struct function *f)
{
    struct code *c = m->c;
    u32 back = label_new(c);
    if (rng_percent(&c->rng, 50)) {
        code_branch(c, ZYDIS_MNEMONIC_CALL, f->label, 32);
    } else if (rng_percent(&c->rng, 70)) {
        branch_indirect(m, ZYDIS_MNEMONIC_CALL, f->label);
    } else {
        u8 r = pick_register(c);
        load_label(c, r, back);
        OP(PUSH, R64(r));
        code_branch(c, ZYDIS_MNEMONIC_JMP, f->label, 32);
        c->depth -= 8;
    }
    label_here(c, back);
    c->spelled_simply = true;
    if (f->kind == F_SKIPS)
        code_op(c, ZYDIS_MNEMONIC_UD2, 0);
    c->spelled_simply = false;
}

static void item_call(struct maker *m)
{
    struct code *c = m->c;
    struct function *f = c->depth < 600 ? pick_function(m) : NULL;
    if (!f)
        return;
    push_arguments(c, f->pops);
    if (f->kind == F_RECURSES) {
        c->uses |= USES_SAVE;
        OP(MOV, mem_op(NO_GPR, (s64)recursion_counter(m, f), 4), I(rng_between(&c->rng, 0, 3)));
    }
    f->reserved |= c->reserved;
    f->depth = MAX(f->depth, c->depth + 8);
    put_call(m, f);
    c->depth -= (s32)f->pops;
    forget_all(c);
}

static void put_return(struct code *c, const struct function *f)
{
    if (f->pops)
        OP(RET, I(f->pops));
    else
        code_op(c, ZYDIS_MNEMONIC_RET, 0);
}

/* Take the return address off the stack and jump to it. */
static void put_pop_return(struct code *c, const struct function *f)
{
    u8 r = pick_register(c);
    OP(POP, R64(r));
    if (f->pops)
        move_rsp(c, (s32)f->pops);
    OP(JMP, R64(r));
}

static void put_recursion(struct maker *m, const struct function *f)
{
    struct code *c = m->c;
    u32 out = label_new(c);
    OP(DEC, mem_op(NO_GPR, (s64)recursion_counter(m, f), 4));
    code_branch(c, ZYDIS_MNEMONIC_JS, out, 32);
    block(m, 1 + rng_below(&c->rng, 2));
    push_arguments(c, f->pops);
    code_branch(c, ZYDIS_MNEMONIC_CALL, f->label, 32);
    c->depth -= (s32)f->pops;
    forget_all(c);
    block(m, rng_below(&c->rng, 2));
    label_here(c, out);
    put_return(c, f);
}

static void put_function(struct maker *m, struct function *f)
{
    struct code *c = m->c;
    c->reserved = f->reserved;
    c->depth = c->floor = f->depth;
    c->odd_stack = f->kind == F_RECURSES;
    forget_all(c);
    label_here(c, f->label);
    if (f->kind == F_RECURSES) {
        put_recursion(m, f);
        return;
    }
    if (f->kind == F_SKIPS)
        OP(ADD, mem_op(RSP, 0, 8), I(2));
    block(m, 1 + rng_below(&c->rng, 3));
    if (f->kind == F_POPS) {
        put_pop_return(c, f);
    } else if (f->kind == F_TAIL && m->n_functions < FUNCTION_LIMIT) {
        struct function *g = &m->function[m->n_functions++];
        *g = *f;
        g->kind = F_PLAIN;
        g->label = label_new(c);
        code_branch(c, ZYDIS_MNEMONIC_JMP, g->label, 32);
    } else {
        put_return(c, f);
    }
}

static void item_call_pop(struct maker *m)
{
    struct code *c = m->c;
    u32 next = label_new(c);
    code_branch(c, ZYDIS_MNEMONIC_CALL, next, 32);
    if (rng_percent(&c->rng, 30))
        code_op(c, ZYDIS_MNEMONIC_INT3, 0);
    label_here(c, next);
    OP(POP, R64(pick_register(c)));
    c->depth += 8; /* for the call, which is not counted where it stands */
}

/* -- State that is saved and loaded ------------------------------------------------------------- */

/* The opcode of an instruction with one memory operand, and where that is to be. */
struct saving {
    u8 bytes[5];
    u32 at;
};
static const struct saving savings[] = {
    {{0x0f, 0xae, 0x20}, XSAVE_AT},    {{0x48, 0x0f, 0xae, 0x20}, XSAVE_AT},
    {{0x0f, 0xae, 0x30}, XSAVE_AT},    {{0x48, 0x0f, 0xae, 0x30}, XSAVE_AT},
    {{0x0f, 0xae, 0x28}, XSAVE_AT},    {{0x48, 0x0f, 0xae, 0x28}, XSAVE_AT},
    {{0x0f, 0xc7, 0x20}, XSAVEC_AT},   {{0x48, 0x0f, 0xc7, 0x20}, XSAVEC_AT},
    {{0x0f, 0xae, 0x28}, XSAVEC_AT},   {{0x48, 0x0f, 0xae, 0x28}, XSAVEC_AT},
    {{0x0f, 0xae, 0x00}, FXSAVE_AT},   {{0x48, 0x0f, 0xae, 0x00}, FXSAVE_AT},
    {{0x0f, 0xae, 0x08}, FXSAVE_AT},   {{0x48, 0x0f, 0xae, 0x08}, FXSAVE_AT},
    {{0xd9, 0x30}, FNSTENV_AT},        {{0xd9, 0x20}, FNSTENV_AT},
    {{0x66, 0xd9, 0x30}, FNSTENVW_AT}, {{0x66, 0xd9, 0x20}, FNSTENVW_AT},
    {{0xdd, 0x30}, FNSAVE_AT},         {{0xdd, 0x20}, FNSAVE_AT},
    {{0x66, 0xdd, 0x30}, FNSAVEW_AT},  {{0x66, 0xdd, 0x20}, FNSAVEW_AT},
    {{0x0f, 0xae, 0x10}, MXCSRS_AT},   {{0xc5, 0xf8, 0xae, 0x10}, MXCSRS_AT},
    {{0xd9, 0x28}, FCWS_AT},
};

/* Which components to save or load. Those of the vector registers go together: where only the
 * middle of a register was set back to zero, a Zen 4 with Linux 6.18 has been seen to bring the old
 * value back at a change of context, with no gait around. */
static bool choose_components(struct code *c)
{
    enum { X87 = 1, SSE = 2, VECTORS = 0xe4 };
    u64 all = world_components(), x = rng_next(&c->rng);
    if (!is_free(c, RAX) || !is_free(c, RDX))
        return false;
    u64 some = (x & X87) | (x & SSE) | (x & 4 ? VECTORS : 0);
    OP(MOV, R32(RAX), I((s64)(x & 8 ? all : all & some)));
    if (rng_percent(&c->rng, 70))
        OP(XOR, R32(RDX), R32(RDX));
    return true;
}

static void item_save(struct maker *m)
{
    struct code *c = m->c;
    const struct saving *s = &savings[rng_below(&c->rng, ARRAY_LEN(savings))];
    u16 reserved = c->reserved;
    ZydisDecoder d;
    ZydisDecodedInstruction z;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    ZydisEncoderRequest q;
    ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, s->bytes, sizeof s->bytes, &z, op)) ||
        !ZYAN_SUCCESS(
            ZydisEncoderDecodedInstructionToEncoderRequest(&z, op, z.operand_count_visible, &q)))
        return;
    c->uses |= USES_SAVE;
    if (s->at < FXSAVE_AT) {
        if (!choose_components(c))
            return;
        c->reserved |= 1u << RAX | 1u << RDX;
    }
    u32 at = s->at;
    if (at == MXCSRS_AT)
        at += 4 * rng_below(&c->rng, 16);
    if (at == FCWS_AT)
        at += 2 * rng_below(&c->rng, 16);
    q.operands[0] = pick_way(c, at, q.operands[0].mem.size).op;
    c->reserved = reserved;
    if (!code_put(c, &q))
        c->failed = true;
}

static void item_segment_base(struct maker *m)
{
    struct code *c = m->c;
    u8 r = pick_register(c);
    bool fs = rng_percent(&c->rng, 50);
    c->uses |= USES_FS | USES_GS;
    if (rng_percent(&c->rng, 40)) {
        code_op(c, fs ? ZYDIS_MNEMONIC_RDFSBASE : ZYDIS_MNEMONIC_RDGSBASE, 1,
                rng_percent(&c->rng, 50) ? R64(r) : R32(r));
        return;
    }
    OP(MOV, R64(r), I(rng_percent(&c->rng, 50) ? FS_AWAY : GS_AWAY));
    code_op(c, fs ? ZYDIS_MNEMONIC_WRFSBASE : ZYDIS_MNEMONIC_WRGSBASE, 1, R64(r));
}

/* A system call that does not exist: rax, rcx and r11 change. */
static void item_syscall(struct maker *m)
{
    struct code *c = m->c;
    if (!is_free(c, RAX) || !is_free(c, RCX) || !is_free(c, R11))
        return;
    OP(MOV, R32(RAX), I(0x7fff));
    code_op(c, ZYDIS_MNEMONIC_SYSCALL, 0);
    forget(c, RAX);
    forget(c, RCX);
    forget(c, R11);
}

static void item_clzero(struct maker *m)
{
    struct code *c = m->c;
    if (!is_free(c, RAX))
        return;
    need_pointer(c, RAX, false, false);
    OP(CLZERO, R64(RAX));
}

/* mov between rax and an address of 64 bits. */
static void item_moffs(struct maker *m)
{
    struct code *c = m->c;
    u32 bits = 8u << rng_below(&c->rng, 4);
    ZydisEncoderOperand o = mem_op(NO_GPR, HIGH_AT + 2000 + rng_below(&c->rng, 64), bits / 8);
    if (rng_percent(&c->rng, 50))
        OP(MOV, o, reg_op(gpr(RAX, bits)));
    else if (is_free(c, RAX))
        OP(MOV, reg_op(gpr(RAX, bits)), o);
}

/* -- Items -------------------------------------------------------------------------------------- */

static const struct {
    u32 weight;
    void (*put)(struct maker *); /* or a form of this class */
    enum form_class class;
    bool nests;
} items[] = {
    {300, NULL, FORM_GENERAL, false}, {45, NULL, FORM_BIT, false},
    {50, NULL, FORM_STRING, false},   {60, NULL, FORM_STACK, false},
    {15, NULL, FORM_DIVIDE, false},   {50, NULL, FORM_X87, false},
    {40, NULL, FORM_MMX, false},      {80, NULL, FORM_SSE, false},
    {80, NULL, FORM_VEX, false},      {110, NULL, FORM_EVEX, false},
    {20, NULL, FORM_MASK, false},     {15, NULL, FORM_VSIB, false},
    {18, item_flags, 0, false},       {12, item_move_rsp, 0, false},
    {5, item_odd_pop, 0, false},      {12, item_save, 0, false},
    {5, item_segment_base, 0, false}, {2, item_syscall, 0, false},
    {2, item_clzero, 0, false},       {4, item_moffs, 0, false},
    {8, item_call_pop, 0, false},     {60, item_if, 0, true},
    {10, item_if_count, 0, true},     {22, item_loop, 0, true},
    {35, item_call, 0, true},         {20, item_jump, 0, true},
    {8, item_switch, 0, true},        {6, item_other_stack, 0, true},
    {6, item_frame, 0, true},
};

static void item(struct maker *m)
{
    struct code *c = m->c;
    u32 all = 0, i = 0;
    for (size_t k = 0; k < ARRAY_LEN(items); k++)
        all += items[k].weight;
    for (u32 x = rng_below(&c->rng, all); x >= items[i].weight; i++)
        x -= items[i].weight;
    if (items[i].nests && m->nest >= 3)
        return;
    if (items[i].put) {
        items[i].put(m);
        return;
    }
    const struct form *f = form_pick(&c->rng, items[i].class);
    if (f)
        form_put(c, f);
}

static void block(struct maker *m, u32 n)
{
    struct code *c = m->c;
    s32 depth = c->depth, floor = c->floor;
    c->floor = m->nest ? depth : floor;
    m->nest++;
    for (u32 i = 0; i < n && !c->failed && c->n < CODE_LIMIT / 2; i++)
        item(m);
    m->nest--;
    c->floor = floor;
    if (m->nest && c->depth != depth)
        move_rsp(c, c->depth - depth);
}

/* -- The whole ---------------------------------------------------------------------------------- */

/* Let some registers begin as something useful. */
static void choose_start(struct code *c, struct start *s)
{
    for (u8 r = 0; r < 16; r++) {
        u32 x = rng_below(&c->rng, 100);
        u16 bit = (u16)(1u << r);
        if (r == RSP || x >= 40)
            continue;
        s->low |= x < 15 ? bit : 0;
        s->high |= x >= 15 && x < 30 ? bit : 0;
        s->small |= x >= 30 ? bit : 0;
        c->know[r] =
            x < 30 ? (struct know){POINTER, x < 15, true, 256} : (struct know){.kind = SMALL};
    }
}

static void leave(struct code *c)
{
    u8 r = pick_register(c);
    switch (rng_below(&c->rng, 4)) {
    case 0:
        OP(PUSH, mem_op(NO_GPR, LEAVE_AT, 8));
        code_op(c, ZYDIS_MNEMONIC_RET, 0);
        break;
    case 1:
        OP(MOV, R64(r), mem_op(NO_GPR, LEAVE_AT, 8));
        OP(JMP, R64(r));
        break;
    case 2:
        OP(CALL, mem_op(NO_GPR, LEAVE_AT, 8));
        break;
    default:
        code_leave(c);
        break;
    }
}

static void put_literals(struct maker *m)
{
    struct code *c = m->c;
    for (u32 i = 0; i < m->n_literals; i++) {
        label_here(c, m->literal[i].label);
        code_data(c, 0);
        code_fix(c, FIX_ABS64, c->n - 8, m->literal[i].target);
    }
}

bool sequence_make(struct sequence *s, struct code *c, u64 address, u64 seed)
{
    struct maker m = {.c = c};
    code_begin(c, address, seed);
    *s = (struct sequence){.address = address, .start = {.seed = rng_next(&c->rng)}};
    choose_start(c, &s->start);
    block(&m, 1 + rng_below(&c->rng, 1 + rng_below(&c->rng, 30)));
    leave(c);
    for (u32 i = 0; i < m.n_functions && !c->failed; i++) {
        m.nest = 1;
        m.first_callable = i + 1;
        put_function(&m, &m.function[i]);
    }
    s->code_size = c->n;
    put_literals(&m);
    s->size = c->n;
    s->start.uses = c->uses;
    return code_resolve(c);
}
