/* SPDX-License-Identifier: MIT */
/* Branches, loops, jumps to an address, calls and returns. What a branch skips is forgotten where
 * the ways meet. */
#include "maker.h"

#include <string.h>

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

/* -- Branches and loops ----------------------------------------------------------------------- */

/* A condition jumps over a block; perhaps to another one. */
void item_if(struct maker *m)
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
void item_if_count(struct maker *m)
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

/* At a loop's head only what stays the same is known: keep a few registers, forget the rest. */
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

void item_loop(struct maker *m)
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

/* -- Jumps to an address ---------------------------------------------------------------------- */

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

void item_jump(struct maker *m)
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
void item_switch(struct maker *m)
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

/* -- Functions -------------------------------------------------------------------------------- */

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

void item_call(struct maker *m)
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

void put_function(struct maker *m, struct function *f)
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

void item_call_pop(struct maker *m)
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
