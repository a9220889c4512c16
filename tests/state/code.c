/* SPDX-License-Identifier: MIT */
/* Encoding, labels, and operands that can be used without a fault. */
#include "code.h"

#include <stdarg.h>
#include <string.h>

enum { MIDDLE = 2048, REACH = 1500 };

static const ZydisDecoder *decoder(void)
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

/* -- Other spellings --------------------------------------------------------------------------- */

/* The encoder knows one way to write an instruction; assemblers and compilers know more. */

static bool same_operand(const ZydisDecodedOperand *a, const ZydisDecodedOperand *b)
{
    if (a->type != b->type || a->size != b->size || a->actions != b->actions)
        return false;
    switch (a->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        return a->reg.value == b->reg.value;
    case ZYDIS_OPERAND_TYPE_MEMORY:
        return a->mem.base == b->mem.base && a->mem.index == b->mem.index &&
               a->mem.scale == b->mem.scale && a->mem.disp.value == b->mem.disp.value &&
               (a->mem.segment == b->mem.segment ||
                (a->mem.segment != ZYDIS_REGISTER_FS && a->mem.segment != ZYDIS_REGISTER_GS)) &&
               a->mem.base != ZYDIS_REGISTER_RIP && a->mem.base != ZYDIS_REGISTER_EIP;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        return a->imm.value.u == b->imm.value.u;
    default:
        return false;
    }
}

static bool means_the_same(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op,
                           const u8 *bytes, ZyanUSize len)
{
    ZydisDecodedInstruction y;
    ZydisDecodedOperand other[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder(), bytes, len, &y, other)) ||
        y.length != len || y.mnemonic != z->mnemonic || y.operand_count != z->operand_count)
        return false;
    for (u32 i = 0; i < z->operand_count; i++)
        if (!same_operand(&op[i], &other[i]))
            return false;
    return true;
}

static bool is_loop(const ZydisDecodedInstruction *z)
{
    return z->mnemonic == ZYDIS_MNEMONIC_LOOP || z->mnemonic == ZYDIS_MNEMONIC_LOOPE ||
           z->mnemonic == ZYDIS_MNEMONIC_LOOPNE;
}

/* Where the opcode begins, or the REX before it. */
static u32 after_prefixes(const u8 *bytes, ZyanUSize len)
{
    u32 i = 0;
    while (i < len &&
           (bytes[i] == 0x66 || bytes[i] == 0x67 || bytes[i] == 0xf0 || bytes[i] == 0xf2 ||
            bytes[i] == 0xf3 || bytes[i] == 0x64 || bytes[i] == 0x65))
        i++;
    return i;
}

static void insert(u8 *bytes, ZyanUSize *len, u32 at, u8 x)
{
    memmove(bytes + at + 1, bytes + at, *len - at);
    bytes[at] = x;
    ++*len;
}

/* Write it in another way if there is one: with a prefix that changes nothing, with a REX of 0, with
 * a REX that a prefix cancels, from the other side, with three bytes of VEX. */
static void respell(struct code *c, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op,
                    u8 *bytes, ZyanUSize *len)
{
    static const u8 idle[] = {0x26, 0x2e, 0x36, 0x3e, 0xf2};
    u8 other[ZYDIS_MAX_INSTRUCTION_LENGTH + 2];
    ZyanUSize n = *len;
    if (n > ZYDIS_MAX_INSTRUCTION_LENGTH - 2)
        return;
    memcpy(other, bytes, n);
    u32 at = after_prefixes(other, n);
    bool has_rex = (other[at] & 0xf0) == 0x40, is_vex = other[at] == 0xc5;
    switch (rng_below(&c->rng, 4)) {
    case 0: /* f2 makes a Zen 4 take loope for loopne */
        insert(other, &n, 0, idle[rng_below(&c->rng, is_loop(z) ? 4 : ARRAY_LEN(idle))]);
        break;
    case 1:
        if (has_rex || is_vex || other[at] == 0xc4 || other[at] == 0x62)
            return;
        insert(other, &n, at, 0x40);
        break;
    case 2:
        if (at == 0 || has_rex)
            return;
        insert(other, &n, 0, 0x48);
        break;
    default:
        if (is_vex) {
            u8 last = other[at + 1];
            other[at] = 0xc4;
            other[at + 1] = (u8)((last & 0x80) | 0x61);
            insert(other, &n, at + 2, (u8)(last & 0x7f));
            break;
        }
        at += has_rex;
        if (other[at] >= 0x40 || (other[at] & 4) || n != at + 2)
            if ((other[at] & 0xfc) != 0x88 || n != at + 2)
                return;
        other[at] ^= 2;
        other[at + 1] =
            (u8)((other[at + 1] & 0xc0) | (other[at + 1] & 7) << 3 | (other[at + 1] >> 3 & 7));
        if (has_rex)
            other[at - 1] =
                (u8)((other[at - 1] & 0xfa) | (other[at - 1] & 1) << 2 | (other[at - 1] >> 2 & 1));
        break;
    }
    if (!means_the_same(z, op, other, n))
        return;
    memcpy(bytes, other, n);
    *len = n;
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
        !ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder(), bytes, len, &z, op)) ||
        z.mnemonic != q->mnemonic || !is_allowed(c, &z, op))
        return false;
    if (!c->spelled_simply && rng_percent(&c->rng, 15))
        respell(c, &z, op, bytes, &len);
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

/* -- Pointers and small numbers ---------------------------------------------------------------- */

static bool is_low_code(const struct code *c)
{
    return c->base < HIGH_AT;
}

/* Find a register of which this is known, or NO_GPR; r11 often. */
static u8 find(struct code *c, enum kind kind, bool low, bool aligned)
{
    u8 first = rng_percent(&c->rng, 25) ? R11 : (u8)rng_below(&c->rng, 16);
    for (u8 i = 0; i < 16; i++) {
        u8 r = (first + i) & 15;
        const struct know *k = &c->know[r];
        if (k->kind == kind && (!low || k->low) && (!aligned || k->aligned) &&
            (kind == SMALL || k->slack < 800))
            return r;
    }
    return NO_GPR;
}

static s64 line(struct code *c)
{
    return MIDDLE + 64 * rng_between(&c->rng, -4, 4);
}

/* Put a pointer into r in one of the many ways a program does. */
static void make_pointer(struct code *c, u8 r, bool low)
{
    ZydisEncoderOperand wide = reg_op(gpr(r, 64)), narrow = reg_op(gpr(r, 32));
    bool is_low = low || rng_percent(&c->rng, 50);
    s64 address = (s64)(is_low ? LOW_AT : HIGH_AT) + line(c);
    s64 entry = POINTERS_AT + 16 * (s64)rng_below(&c->rng, 8) + (is_low ? 0 : 8);
    ZydisEncoderOperand near = mem_op(NO_GPR, address, 8);
    near.mem.base = ZYDIS_REGISTER_RIP;
    u8 from = find(c, POINTER, is_low, true);
    switch (rng_below(&c->rng, 8)) {
    case 0:
        if (is_low) {
            code_op(c, ZYDIS_MNEMONIC_XOR, 2, narrow, narrow);
            code_op(c, ZYDIS_MNEMONIC_ADD, 2, wide, imm_op(address));
            break;
        }
        /* fall through */
    case 1:
        code_op(c, ZYDIS_MNEMONIC_MOV, 2, wide, imm_op(address));
        break;
    case 2:
        code_op(c, ZYDIS_MNEMONIC_PUSH, 1, mem_op(NO_GPR, entry, 8));
        code_op(c, ZYDIS_MNEMONIC_POP, 1, wide);
        break;
    case 3:
        if (is_low) {
            code_op(c, ZYDIS_MNEMONIC_MOV, 2, narrow, imm_op(address));
            break;
        }
        /* fall through */
    case 4:
        if (is_low == is_low_code(c)) {
            code_op(c, ZYDIS_MNEMONIC_LEA, 2, wide, near);
            break;
        }
        /* fall through */
    case 5:
        if (from != NO_GPR) { /* is_low is what was asked for, not more */
            struct know k = c->know[from];
            code_op(c, ZYDIS_MNEMONIC_LEA, 2, wide, mem_op(from, 64, 8));
            c->know[r] = (struct know){POINTER, k.low, true, k.slack + 64};
            return;
        }
        /* fall through */
    default:
        code_op(c, ZYDIS_MNEMONIC_MOV, 2, wide, mem_op(NO_GPR, entry, 8));
        break;
    }
    c->know[r] = (struct know){POINTER, is_low, true, 256};
}

u8 need_pointer(struct code *c, u8 reg, bool low, bool aligned)
{
    if (reg == NO_GPR && rng_percent(&c->rng, 80))
        reg = find(c, POINTER, low, aligned);
    if (reg == NO_GPR)
        reg = pick_register(c);
    const struct know *k = &c->know[reg];
    if (k->kind == POINTER && (!low || k->low) && (!aligned || k->aligned) && k->slack < 800)
        return reg;
    make_pointer(c, reg, low);
    return reg;
}

static void make_small(struct code *c, u8 r)
{
    ZydisEncoderOperand wide = reg_op(gpr(r, 64)), narrow = reg_op(gpr(r, 32));
    s64 entry = SMALLS_AT + rng_below(&c->rng, 64);
    switch (rng_below(&c->rng, 6)) {
    case 0:
        code_op(c, ZYDIS_MNEMONIC_AND, 2, narrow, imm_op(31));
        break;
    case 1:
        code_op(c, ZYDIS_MNEMONIC_SAR, 2, wide, imm_op(58));
        break;
    case 2:
        code_op(c, ZYDIS_MNEMONIC_MOVSX, 2, wide, mem_op(NO_GPR, entry, 1));
        break;
    case 3:
        code_op(c, ZYDIS_MNEMONIC_SHR, 2, narrow, imm_op(27));
        break;
    case 4:
        code_op(c, ZYDIS_MNEMONIC_XOR, 2, narrow, narrow);
        code_op(c, ZYDIS_MNEMONIC_SETB, 1, reg_op(gpr(r, 8)));
        break;
    default:
        code_op(c, ZYDIS_MNEMONIC_MOV, 2, wide, imm_op(rng_between(&c->rng, -32, 31)));
        break;
    }
    c->know[r] = (struct know){.kind = SMALL};
}

u8 need_small(struct code *c)
{
    u8 r = rng_percent(&c->rng, 75) ? find(c, SMALL, false, false) : NO_GPR;
    if (r != NO_GPR)
        return r;
    r = pick_register(c);
    make_small(c, r);
    return r;
}

/* -- Places ----------------------------------------------------------------------------------- */

static s64 some_disp(struct code *c, s32 limit, bool aligned)
{
    s64 d = rng_percent(&c->rng, 20)   ? 0
            : rng_percent(&c->rng, 60) ? rng_between(&c->rng, -MIN(limit, 120), MIN(limit, 120))
                                       : rng_between(&c->rng, -limit, limit);
    return aligned ? d & ~63ll : d;
}

/* Add a small register as an index; how many bytes it can move the address. */
static s32 add_index(struct code *c, ZydisEncoderOperand *o, u32 bits)
{
    u8 scale = (u8)(1 << rng_below(&c->rng, 4));
    u8 r = need_small(c);
    o->mem.index = gpr(r, bits);
    o->mem.scale = scale;
    return 32 * scale;
}

/* A register whose lower half alone is a pointer. */
static u8 need_half_pointer(struct code *c)
{
    u8 r = pick_register(c);
    u64 address = LOW_AT + (u64)line(c);
    code_op(c, ZYDIS_MNEMONIC_MOV, 2, reg_op(gpr(r, 64)),
            imm_op((s64)(address | rng_next(&c->rng) << 32)));
    c->know[r] = (struct know){.kind = NOTHING, .slack = 256};
    return r;
}

/* [pointer + disp], perhaps with an index, perhaps with the pointer as the index. */
static struct place by_pointer(struct code *c, u32 size, bool aligned, bool narrow)
{
    u32 bits = narrow ? 32 : 64;
    bool half = narrow && rng_percent(&c->rng, 50);
    u8 r = half ? need_half_pointer(c) : need_pointer(c, NO_GPR, narrow, aligned);
    u16 before = c->reserved;
    struct place p = {.op = mem_op(r, 0, size)};
    p.op.mem.base = gpr(r, bits);
    s32 reach = 0;
    c->reserved |= (u16)(1u << r);
    if (!aligned && rng_percent(&c->rng, 30))
        reach = add_index(c, &p.op, bits);
    c->reserved = before;
    if (p.op.mem.scale == 1 && rng_percent(&c->rng, 50)) {
        p.op.mem.base = p.op.mem.index;
        p.op.mem.index = gpr(r, bits);
    } else if (!p.op.mem.scale && rng_percent(&c->rng, 8)) {
        p.op.mem.base = ZYDIS_REGISTER_NONE;
        p.op.mem.index = gpr(r, bits);
        p.op.mem.scale = 1;
    }
    p.op.mem.displacement = some_disp(c, REACH - reach - c->know[r].slack, aligned);
    return p;
}

/* Nothing that was pushed may be overwritten: above it all, or below the stack pointer. */
static struct place by_stack(struct code *c, u32 size, bool store)
{
    s32 above = c->depth + 8 + (s32)rng_below(&c->rng, 400);
    s32 below = -(s32)size - (s32)rng_below(&c->rng, 256);
    s64 disp = c->odd_stack || rng_percent(&c->rng, 20) ? below
               : store                                  ? above
                                                        : (s64)rng_below(&c->rng, 256);
    struct place p = {.op = mem_op(RSP, disp, size)};
    if (!store && !c->odd_stack && rng_percent(&c->rng, 15))
        add_index(c, &p.op, 64);
    return p;
}

static struct place by_address(struct code *c, u32 size, bool aligned, bool relative)
{
    bool low = !relative || is_low_code(c);
    s64 address = (s64)(low ? LOW_AT : HIGH_AT) + MIDDLE + some_disp(c, 1000, aligned);
    struct place p = {.op = mem_op(NO_GPR, address, size)};
    if (relative)
        p.op.mem.base = low && rng_percent(&c->rng, 15) ? ZYDIS_REGISTER_EIP : ZYDIS_REGISTER_RIP;
    else if (!aligned && rng_percent(&c->rng, 40))
        add_index(c, &p.op, 64);
    return p;
}

struct place pick_place(struct code *c, u32 size, bool aligned, bool store)
{
    struct place p;
    u32 x = rng_below(&c->rng, 100);
    if (x < 50)
        p = by_pointer(c, size, aligned, false);
    else if (x < 60)
        p = by_pointer(c, size, aligned, true);
    else if (x < 75 && !aligned)
        p = by_stack(c, size, store);
    else
        p = by_address(c, size, aligned, x < 90);
    p.prefixes |= pick_segment(c);
    return p;
}

u64 pick_segment(struct code *c)
{
    u32 x = rng_below(&c->rng, 100);
    c->uses |= x < 6 ? USES_FS : x < 12 ? USES_GS : 0;
    return x < 6 ? ZYDIS_ATTRIB_HAS_SEGMENT_FS : x < 12 ? ZYDIS_ATTRIB_HAS_SEGMENT_GS : 0;
}

struct place pick_way(struct code *c, u64 address, u32 size)
{
    struct place p = {.op = mem_op(NO_GPR, (s64)address, size)};
    u8 r;
    switch (rng_below(&c->rng, is_low_code(c) ? 4 : 3)) {
    case 0:
        return p;
    case 1:
        r = pick_register(c);
        code_op(c, ZYDIS_MNEMONIC_MOV, 2, reg_op(gpr(r, 64)), imm_op((s64)address - 40));
        p.op = mem_op(r, 40, size);
        return p;
    case 2:
        r = pick_register(c);
        code_op(c, ZYDIS_MNEMONIC_MOV, 2, reg_op(gpr(r, 32)), imm_op((s64)address));
        p.op = mem_op(r, 0, size);
        p.op.mem.base = gpr(r, rng_percent(&c->rng, 50) ? 32 : 64);
        return p;
    default:
        p.op.mem.base = ZYDIS_REGISTER_RIP;
        return p;
    }
}
