/* SPDX-License-Identifier: MIT */
/* Random programs: forms from forms.c, and around them branches, loops, calls, stacks and state.
 *
 * A sequence is a block, the way out, the functions that were called, and the addresses that jumps
 * go through. A block is a number of items, and undoes what it did to the stack pointer. */
#include "sequence.h"
#include "forms.h"
#include "maker.h"

enum { FLAGS_MAKE = 0xcd5 };

/* -- The stack pointer ------------------------------------------------------------------------ */

void move_rsp(struct code *c, s32 by)
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

/* -- Flags ------------------------------------------------------------------------------------ */

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

/* -- State that is saved and loaded ----------------------------------------------------------- */

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

/* -- Items ------------------------------------------------------------------------------------ */

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

void block(struct maker *m, u32 n)
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

/* -- The whole -------------------------------------------------------------------------------- */

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
