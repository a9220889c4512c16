/* SPDX-License-Identifier: MIT */
/* Encoding, what an instruction changes, and labels. */
#include "code.h"

#include <stdarg.h>
#include <string.h>

const ZydisDecoder *code_decoder(void)
{
    static ZydisDecoder d;
    static bool ready;
    if (!ready)
        ready =
            ZYAN_SUCCESS(ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
    return &d;
}

void code_begin(struct code *c, u64 base, u64 seed)
{
    c->rng.x = seed;
    c->base = base;
    c->n = c->n_labels = c->n_fixes = 0;
    c->failed = c->odd_stack = c->may_move_rsp = c->spelled_simply = false;
    c->reserved = c->uses = 0;
    c->depth = 0;
    c->floor = -200;
    forget_all(c);
}

/* -- Registers -------------------------------------------------------------------------------- */

ZydisRegister gpr(u8 r, u32 bits)
{
    switch (bits) {
    case 8:
        if (r < 4)
            return (ZydisRegister)(ZYDIS_REGISTER_AL + r);
        return (ZydisRegister)(ZYDIS_REGISTER_SPL + r - 4);
    case 16:
        return (ZydisRegister)(ZYDIS_REGISTER_AX + r);
    case 32:
        return (ZydisRegister)(ZYDIS_REGISTER_EAX + r);
    default:
        return (ZydisRegister)(ZYDIS_REGISTER_RAX + r);
    }
}

u8 gpr_number(ZydisRegister r)
{
    ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
    if (wide < ZYDIS_REGISTER_RAX || wide > ZYDIS_REGISTER_R15)
        return NO_GPR;
    return (u8)(wide - ZYDIS_REGISTER_RAX);
}

static bool is_reserved(const struct code *c, u8 r)
{
    return r == RSP || (c->reserved >> r & 1);
}

u8 pick_register(struct code *c)
{
    for (u32 tries = 0; tries < 64; tries++) {
        u32 x = rng_below(&c->rng, 100);
        u8 r = x < 12 ? R11 : x < 22 ? R10 : (u8)rng_below(&c->rng, 16);
        if (!is_reserved(c, r))
            return r;
    }
    c->failed = true;
    return RAX;
}

u8 pick_source(struct code *c)
{
    u32 x = rng_below(&c->rng, 100);
    return x < 15 ? R11 : x < 25 ? R10 : (u8)rng_below(&c->rng, 16);
}

void forget(struct code *c, u8 reg)
{
    c->know[reg] = (struct know){.kind = NOTHING};
}

void forget_all(struct code *c)
{
    for (u8 r = 0; r < 16; r++)
        forget(c, r);
}

void know_meet(struct code *c, const struct know other[16])
{
    for (u8 r = 0; r < 16; r++) {
        struct know *k = &c->know[r];
        if (k->kind != other[r].kind)
            forget(c, r);
        k->low &= other[r].low;
        k->aligned &= other[r].aligned;
        k->slack = MAX(k->slack, other[r].slack);
    }
}

/* -- Operands --------------------------------------------------------------------------------- */

ZydisEncoderOperand reg_op(ZydisRegister r)
{
    ZydisEncoderOperand o = {.type = ZYDIS_OPERAND_TYPE_REGISTER};
    o.reg.value = r;
    return o;
}

ZydisEncoderOperand imm_op(s64 x)
{
    ZydisEncoderOperand o = {.type = ZYDIS_OPERAND_TYPE_IMMEDIATE};
    o.imm.s = x;
    return o;
}

ZydisEncoderOperand mem_op(u8 base, s64 disp, u32 size)
{
    ZydisEncoderOperand o = {.type = ZYDIS_OPERAND_TYPE_MEMORY};
    o.mem.base = base == NO_GPR ? ZYDIS_REGISTER_NONE : gpr(base, 64);
    o.mem.displacement = disp;
    o.mem.size = (ZyanU16)size;
    return o;
}

/* -- Putting ---------------------------------------------------------------------------------- */

static bool encode(struct code *c, ZydisEncoderRequest *q, u8 *to, ZyanUSize *len)
{
    bool absolute = false;
    q->machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
    for (u32 i = 0; i < q->operand_count; i++)
        if (q->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
            absolute |= q->operands[i].mem.base == ZYDIS_REGISTER_RIP ||
                        q->operands[i].mem.base == ZYDIS_REGISTER_EIP;
    ZydisEncoderRequest copy = *q;
    return ZYAN_SUCCESS(absolute
                            ? ZydisEncoderEncodeInstructionAbsolute(&copy, to, len, code_here(c))
                            : ZydisEncoderEncodeInstruction(&copy, to, len));
}

static bool moves_pointers(const ZydisDecodedInstruction *z)
{
    return z->meta.category == ZYDIS_CATEGORY_STRINGOP;
}

/* May this be written here? */
static bool is_allowed(const struct code *c, const ZydisDecodedInstruction *z,
                       const ZydisDecodedOperand *op)
{
    for (u32 i = 0; i < z->operand_count; i++) {
        u8 r = op[i].type == ZYDIS_OPERAND_TYPE_REGISTER ? gpr_number(op[i].reg.value) : NO_GPR;
        if (r == NO_GPR || !(op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        bool hidden = op[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
        if (r == RSP ? !hidden && !c->may_move_rsp : c->reserved >> r & 1)
            return false;
    }
    if (moves_pointers(z))
        for (u32 i = 0; i < z->operand_count; i++)
            if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
                (c->reserved >> gpr_number(op[i].mem.base) & 1))
                return false;
    return true;
}

/* Note what an instruction has changed. */
static void learn(struct code *c, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op)
{
    for (u32 i = 0; i < z->operand_count; i++) {
        u8 r = op[i].type == ZYDIS_OPERAND_TYPE_REGISTER ? gpr_number(op[i].reg.value) : NO_GPR;
        if (r != NO_GPR && (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
            !(moves_pointers(z) && (r == RSI || r == RDI)))
            forget(c, r);
    }
    for (u8 r = RSI; r <= RDI && moves_pointers(z); r++) {
        c->know[r].aligned = false;
        c->know[r].slack += 136;
    }
    s32 width = z->operand_width / 8;
    switch (z->mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
        c->depth += width;
        break;
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
        c->depth -= width;
        break;
    default:
        break;
    }
}

bool code_put(struct code *c, ZydisEncoderRequest *q)
{
    u8 bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
    ZyanUSize len = sizeof bytes;
    ZydisDecodedInstruction z;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    if (c->n + sizeof bytes > CODE_LIMIT) {
        c->failed = true;
        return false;
    }
    if (!encode(c, q, bytes, &len) ||
        !ZYAN_SUCCESS(ZydisDecoderDecodeFull(code_decoder(), bytes, len, &z, op)) ||
        z.mnemonic != q->mnemonic || !is_allowed(c, &z, op))
        return false;
    if (!c->spelled_simply && rng_percent(&c->rng, 15))
        code_respell(c, &z, op, bytes, &len);
    memcpy(c->bytes + c->n, bytes, len);
    c->n += (u32)len;
    learn(c, &z, op);
    return true;
}

static void put_or_fail(struct code *c, ZydisEncoderRequest *q)
{
    if (!code_put(c, q))
        c->failed = true;
}

void code_op(struct code *c, ZydisMnemonic m, u32 n, ...)
{
    ZydisEncoderRequest q = {.mnemonic = m, .operand_count = (ZyanU8)n};
    va_list v;
    va_start(v, n);
    for (u32 i = 0; i < n; i++)
        q.operands[i] = va_arg(v, ZydisEncoderOperand);
    va_end(v);
    put_or_fail(c, &q);
}

void code_op_at(struct code *c, ZydisMnemonic m, const struct place *p, u32 n, ...)
{
    ZydisEncoderRequest q = {.mnemonic = m, .operand_count = (ZyanU8)n, .prefixes = p->prefixes};
    va_list v;
    va_start(v, n);
    for (u32 i = 0; i < n; i++)
        q.operands[i] = va_arg(v, ZydisEncoderOperand);
    va_end(v);
    put_or_fail(c, &q);
}

void code_data(struct code *c, u64 x)
{
    if (c->n + 8 > CODE_LIMIT) {
        c->failed = true;
        return;
    }
    memcpy(c->bytes + c->n, &x, 8);
    c->n += 8;
}

/* -- Labels ----------------------------------------------------------------------------------- */

u32 label_new(struct code *c)
{
    if (c->n_labels == LABEL_LIMIT) {
        c->failed = true;
        return 0;
    }
    c->label[c->n_labels] = -1;
    return c->n_labels++;
}

void label_here(struct code *c, u32 label)
{
    c->label[label] = (s32)c->n;
}

void code_fix(struct code *c, enum fix_kind kind, u32 field, u32 label)
{
    if (c->n_fixes == FIX_LIMIT) {
        c->failed = true;
        return;
    }
    c->fix[c->n_fixes++] = (struct fix){kind, field, c->n, label};
}

void code_branch(struct code *c, ZydisMnemonic m, u32 label, u32 bits)
{
    ZydisEncoderRequest q = {.mnemonic = m, .operand_count = 1};
    q.branch_width = bits == 8 ? ZYDIS_BRANCH_WIDTH_8 : ZYDIS_BRANCH_WIDTH_32;
    q.operands[0] = imm_op(0);
    put_or_fail(c, &q);
    code_fix(c, bits == 8 ? FIX_REL8 : FIX_REL32, c->n - bits / 8, label);
}

void code_lea_label(struct code *c, u8 reg, u32 label)
{
    ZydisEncoderOperand m = mem_op(NO_GPR, (s64)code_here(c), 8);
    m.mem.base = ZYDIS_REGISTER_RIP;
    code_op(c, ZYDIS_MNEMONIC_LEA, 2, reg_op(gpr(reg, 64)), m);
    code_fix(c, FIX_REL32, c->n - 4, label);
}

static bool resolve(struct code *c, const struct fix *f)
{
    s32 to = c->label[f->label], rel = to - (s32)f->end;
    u64 address = c->base + (u64)to;
    if (to < 0 || (f->kind == FIX_REL8 && rel != (s8)rel))
        return false;
    switch (f->kind) {
    case FIX_REL8:
        c->bytes[f->field] = (u8)rel;
        break;
    case FIX_REL32:
        memcpy(c->bytes + f->field, &rel, 4);
        break;
    case FIX_ABS32:
        memcpy(c->bytes + f->field, &address, 4);
        break;
    case FIX_ABS64:
        memcpy(c->bytes + f->field, &address, 8);
        break;
    }
    return true;
}

bool code_resolve(struct code *c)
{
    for (u32 i = 0; i < c->n_fixes; i++)
        if (!resolve(c, &c->fix[i]))
            return false;
    return !c->failed;
}
