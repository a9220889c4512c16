/* SPDX-License-Identifier: MIT */
/* From a form to an instruction: operands that it can have here, and before it what it needs. */
#include "forms.h"

#include <string.h>

/* -- Operands --------------------------------------------------------------------------------- */

static ZydisRegister some_gpr(struct code *c, u32 bits)
{
    if (bits == 8 && rng_percent(&c->rng, 10))
        return (ZydisRegister)(ZYDIS_REGISTER_AH + rng_below(&c->rng, 4));
    return gpr(pick_source(c), bits);
}

static ZydisRegister vector(ZydisRegisterClass class, u32 n)
{
    ZydisRegister first = class == ZYDIS_REGCLASS_XMM   ? ZYDIS_REGISTER_XMM0
                          : class == ZYDIS_REGCLASS_YMM ? ZYDIS_REGISTER_YMM0
                                                        : ZYDIS_REGISTER_ZMM0;
    return (ZydisRegister)(first + n);
}

static ZydisRegister some_vector(struct code *c, const struct form *f, ZydisRegister like)
{
    bool many = f->q.allowed_encodings == ZYDIS_ENCODABLE_ENCODING_EVEX;
    u32 n = rng_below(&c->rng, many ? 32 : 16);
    return vector(ZydisRegisterGetClass(like), n);
}

static s64 some_immediate(struct code *c, u32 bits, bool is_signed)
{
    u64 x = rng_next(&c->rng);
    if (rng_percent(&c->rng, 30))
        x = (u64)(s64)rng_between(&c->rng, -2, 8);
    if (bits >= 64)
        return (s64)x;
    if (is_signed)
        return (s64)(x << (64 - bits)) >> (64 - bits);
    return (s64)(x & ((1ull << bits) - 1));
}

/* lea and nop take any address. */
static ZydisEncoderOperand some_address(struct code *c, u32 size)
{
    ZydisEncoderOperand o = mem_op(NO_GPR, (s32)rng_next(&c->rng), size);
    u32 bits = rng_percent(&c->rng, 15) ? 32 : 64;
    if (rng_percent(&c->rng, 50))
        o.mem.displacement = rng_between(&c->rng, -128, 127);
    if (rng_percent(&c->rng, 90))
        o.mem.base = gpr(pick_source(c), bits);
    u8 index = pick_source(c);
    if (index != RSP && rng_percent(&c->rng, 60)) {
        o.mem.index = gpr(index, bits);
        o.mem.scale = (u8)(1 << rng_below(&c->rng, 4));
    }
    return o;
}

static bool has_dword_indices(ZydisMnemonic m)
{
    const char *name = ZydisMnemonicGetString(m);
    return strstr(name, "gatherd") || strstr(name, "scatterd");
}

/* [pointer + indices], and the indices loaded right before; no vector register twice. */
static void set_vsib(struct code *c, const struct form *f, ZydisEncoderRequest *q)
{
    bool evex = f->q.allowed_encodings == ZYDIS_ENCODABLE_ENCODING_EVEX;
    u32 registers = evex ? 32 : 16, first = rng_below(&c->rng, registers);
    ZydisEncoderOperand *m = NULL;
    for (u32 i = 0; i < q->operand_count; i++) {
        ZydisEncoderOperand *o = &q->operands[i];
        if (f->role[i] == ROLE_VSIB)
            m = o;
        else if (f->role[i] == ROLE_VECTOR)
            o->reg.value = vector(ZydisRegisterGetClass(o->reg.value), (first + 3 * i) % registers);
    }
    m->mem.index = vector(ZydisRegisterGetClass(m->mem.index), (first + 1) % registers);
    m->mem.scale = (u8)(1 << rng_below(&c->rng, 4));
    m->mem.base = gpr(need_pointer(c, NO_GPR, false, false), 64);
    m->mem.displacement = rng_between(&c->rng, -200, 200);
    u64 from = has_dword_indices(f->q.mnemonic) ? DWORDS_AT : QWORDS_AT;
    u32 size = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, m->mem.index) / 8u;
    ZydisEncoderOperand to = reg_op(m->mem.index),
                        indices = mem_op(NO_GPR, (s64)from + 64 * rng_below(&c->rng, 4), size);
    if (evex)
        code_op(c, ZYDIS_MNEMONIC_VMOVDQU32, 3, to, reg_op(ZYDIS_REGISTER_K0), indices);
    else
        code_op(c, ZYDIS_MNEMONIC_VMOVDQU, 2, to, indices);
}

static bool is_bit_test(ZydisMnemonic m)
{
    return m == ZYDIS_MNEMONIC_BT || m == ZYDIS_MNEMONIC_BTS || m == ZYDIS_MNEMONIC_BTR ||
           m == ZYDIS_MNEMONIC_BTC;
}

static void set_memory(struct code *c, const struct form *f, ZydisEncoderRequest *q, u32 i,
                       bool aligned)
{
    u16 before = c->reserved;
    struct place p = pick_place(c, q->operands[i].mem.size, aligned, f->stores);
    q->operands[i] = p.op;
    q->prefixes |= p.prefixes;
    if (i == 0 && f->locks && rng_percent(&c->rng, 30))
        q->prefixes |= ZYDIS_ATTRIB_HAS_LOCK;
    /* The bit's number moves the address: it must be small, and not spoil what holds it. */
    if (is_bit_test(q->mnemonic) && f->role[1] == ROLE_GPR) {
        for (u32 k = 0; k < 2; k++) {
            u8 r = gpr_number(k ? p.op.mem.index : p.op.mem.base);
            c->reserved |= r == NO_GPR ? 0 : (u16)(1u << r);
        }
        q->operands[1].reg.value = gpr(need_small(c), f->bits[1]);
        c->reserved = before;
    }
}

static void set_operands(struct code *c, const struct form *f, ZydisEncoderRequest *q, bool aligned)
{
    for (u32 i = 0; i < q->operand_count; i++)
        if (f->role[i] == ROLE_MEMORY)
            set_memory(c, f, q, i, aligned);
    bool has_bit = is_bit_test(q->mnemonic) && f->role[0] == ROLE_MEMORY;
    for (u32 i = 0; i < q->operand_count; i++) {
        ZydisEncoderOperand *o = &q->operands[i];
        switch (f->role[i]) {
        case ROLE_GPR:
            if (i == 1 && f->role[0] == ROLE_GPR && f->bits[0] == f->bits[1] &&
                rng_percent(&c->rng, 12))
                o->reg.value = q->operands[0].reg.value;
            else if (!has_bit)
                o->reg.value = some_gpr(c, f->bits[i]);
            break;
        case ROLE_VECTOR:
            if (f->class != FORM_VSIB)
                o->reg.value = some_vector(c, f, o->reg.value);
            break;
        case ROLE_MMX:
            o->reg.value = (ZydisRegister)(ZYDIS_REGISTER_MM0 + rng_below(&c->rng, 8));
            break;
        case ROLE_MASK:
            o->reg.value = (ZydisRegister)(ZYDIS_REGISTER_K0 + rng_below(&c->rng, 8));
            break;
        case ROLE_WRITEMASK:
            o->reg.value = (ZydisRegister)(ZYDIS_REGISTER_K1 + rng_below(&c->rng, 7));
            break;
        case ROLE_ADDRESS:
            *o = some_address(c, o->mem.size);
            break;
        case ROLE_IMMEDIATE:
            o->imm.s = some_immediate(c, f->bits[i], f->is_signed);
            break;
        default:
            break;
        }
    }
}

/* -- What must come before -------------------------------------------------------------------- */

static bool is_free(const struct code *c, u8 r)
{
    return !(c->reserved >> r & 1);
}

/* Pointers in the registers that are not named, and a count for rep. */
static bool prepare_implied(struct code *c, const struct form *f, ZydisEncoderRequest *q)
{
    u16 before = c->reserved;
    bool narrow = f->class == FORM_STRING && rng_percent(&c->rng, 15), ok = true;
    for (u32 i = 0; i < 2 && f->implied[i] != NO_GPR; i++) {
        ok &= is_free(c, f->implied[i]);
        if (ok)
            need_pointer(c, f->implied[i], narrow, false);
        c->reserved |= (u16)(1u << f->implied[i]);
    }
    if (ok && (f->reps || f->repes) && is_free(c, RCX) && rng_percent(&c->rng, 60)) {
        s64 count = rng_below(&c->rng, 17);
        if (rng_percent(&c->rng, 30))
            code_op(c, ZYDIS_MNEMONIC_AND, 2, reg_op(ZYDIS_REGISTER_RCX), imm_op(15));
        else
            code_op(c, ZYDIS_MNEMONIC_MOV, 2, reg_op(ZYDIS_REGISTER_ECX), imm_op(count));
        q->prefixes |= f->reps                    ? ZYDIS_ATTRIB_HAS_REP
                       : rng_percent(&c->rng, 50) ? ZYDIS_ATTRIB_HAS_REPE
                                                  : ZYDIS_ATTRIB_HAS_REPNE;
    }
    c->reserved = before;
    if (ok && f->implied[0] != NO_GPR)
        q->prefixes |= pick_segment(c);
    for (u32 i = 0; narrow && i < q->operand_count; i++)
        if (q->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
            q->operands[i].mem.base = gpr(gpr_number(q->operands[i].mem.base), 32);
    if (narrow)
        q->address_size_hint = ZYDIS_ADDRESS_SIZE_HINT_32;
    return ok;
}

/* No division by zero, and a quotient that fits. */
bool form_put_division(struct code *c, const struct form *f)
{
    ZydisEncoderRequest q = f->q;
    u32 bits = f->role[0] == ROLE_MEMORY ? q.operands[0].mem.size * 8u : f->bits[0];
    bool is_signed = q.mnemonic == ZYDIS_MNEMONIC_IDIV;
    u16 before = c->reserved;
    if (!is_free(c, RAX) || !is_free(c, RDX))
        return false;
    c->reserved |= 1u << RAX | 1u << RDX;
    struct place p = {.prefixes = 0};
    if (f->role[0] == ROLE_MEMORY)
        p = pick_place(c, bits / 8, false, true);
    else
        p.op = reg_op(gpr(pick_register(c), bits));
    code_op_at(c, ZYDIS_MNEMONIC_OR, &p, 2, p.op, imm_op(1));
    c->reserved = before;
    if (is_signed)
        code_op(c,
                bits == 8    ? ZYDIS_MNEMONIC_CBW
                : bits == 16 ? ZYDIS_MNEMONIC_CWD
                : bits == 32 ? ZYDIS_MNEMONIC_CDQ
                             : ZYDIS_MNEMONIC_CQO,
                0);
    else if (bits == 8)
        code_op(c, ZYDIS_MNEMONIC_MOVZX, 2, reg_op(ZYDIS_REGISTER_EAX), reg_op(ZYDIS_REGISTER_AL));
    else
        code_op(c, ZYDIS_MNEMONIC_XOR, 2, reg_op(ZYDIS_REGISTER_EDX), reg_op(ZYDIS_REGISTER_EDX));
    q.operands[0] = p.op;
    q.prefixes = p.prefixes;
    return code_put(c, &q);
}

/* push and pop must stay within the stack page, and pop may not take what a call has pushed. */
static bool stack_has_room(const struct code *c, const struct form *f)
{
    return f->q.mnemonic == ZYDIS_MNEMONIC_PUSH ? c->depth < 1000 : c->depth - 8 >= c->floor;
}

bool form_put_with(struct code *c, const struct form *f, bool aligned)
{
    for (u32 tries = 0; tries < 6; tries++) {
        ZydisEncoderRequest q = f->q;
        if (!prepare_implied(c, f, &q))
            return false;
        if (f->class == FORM_VSIB)
            set_vsib(c, f, &q);
        set_operands(c, f, &q, aligned);
        if (c->failed || code_put(c, &q))
            return !c->failed;
    }
    return false;
}

bool form_put(struct code *c, const struct form *f)
{
    if (f->class == FORM_DIVIDE)
        return form_put_division(c, f);
    if (f->class == FORM_STACK && !stack_has_room(c, f))
        return false;
    return form_put_with(c, f, f->aligned || rng_percent(&c->rng, 20));
}
