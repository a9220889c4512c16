/* SPDX-License-Identifier: MIT */
/* Registers that hold what is needed, and memory operands that can be used without a fault. */
#include "code.h"

enum { MIDDLE = 2048, REACH = 1500 };

/* -- Pointers and small numbers --------------------------------------------------------------- */

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
