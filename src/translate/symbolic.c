/* SPDX-License-Identifier: MIT */
/* The computable steps, from DEP: what keeps a register known. Everything else makes it unknown. */
#include "translate/symbolic.h"
#include "wire/wire.h"

static struct value constant(s64 c)
{
    return (struct value){.a = TERM_NONE, .b = TERM_NONE, .c = c, .known = true};
}

static struct value term(u8 t)
{
    return (struct value){.a = t, .b = TERM_NONE, .known = true};
}

static struct value plus(struct value v, s64 c)
{
    v.c = (s64)((u64)v.c + (u64)c);
    return v;
}

void values_enter(struct values *v)
{
    for (int i = 0; i < 16; i++)
        v->reg[i] = (struct value){.known = false};
    v->reg[RSP] = term(TERM_RSP);
}

void values_stored(struct values *v, u8 reg, u8 slot)
{
    v->reg[reg] = term(slot);
}

/* Add one scaled term; false when the form a + (b << shift) cannot hold it. */
static bool add_term(struct value *out, u8 t, u8 shift)
{
    if (t == TERM_NONE)
        return true;
    if (shift == 0 && out->a == TERM_NONE) {
        out->a = t;
        return true;
    }
    if (out->b == TERM_NONE) {
        out->b = t;
        out->shift = shift;
        return true;
    }
    if (out->a == TERM_NONE && out->shift == 0) { /* what stands in b may as well stand in a */
        out->a = out->b;
        out->b = t;
        out->shift = shift;
        return true;
    }
    return false;
}

static bool add_value(struct value *out, const struct value *x, u8 shift)
{
    if (!x->known || x->shift + shift > 31)
        return false;
    out->c = (s64)((u64)out->c + ((u64)x->c << shift));
    return add_term(out, x->a, shift) && add_term(out, x->b, (u8)(x->shift + shift));
}

bool values_address(const struct values *v, u8 base, u8 index, u8 shift, s64 disp,
                    struct value *out)
{
    *out = constant(disp);
    if (base != REG_NONE && !add_value(out, &v->reg[base], 0))
        return false;
    return index == REG_NONE || add_value(out, &v->reg[index], shift);
}

/* -- Steps ------------------------------------------------------------------------------------ */

static bool is_reg64(const ZydisDecodedOperand *o, u8 *r)
{
    if (o->type != ZYDIS_OPERAND_TYPE_REGISTER || o->size != 64)
        return false;
    *r = insn_gpr(o->reg.value);
    return *r != REG_NONE;
}

static struct value move_value(const struct values *v, const struct insn *in, u8 *to)
{
    struct value unknown = {.known = false};
    u8 from;
    *to = insn_gpr(in->op[0].reg.value);
    if (in->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && in->op[0].size >= 32)
        return constant(in->op[0].size == 32 ? (s64)(u32)in->op[1].imm.value.u
                                             : in->op[1].imm.value.s);
    if (in->op[0].size == 64 && is_reg64(&in->op[1], &from))
        return v->reg[from];
    return unknown;
}

static struct value lea_value(const struct values *v, const struct insn *in)
{
    const ZydisDecodedOperandMem *m = &in->op[1].mem;
    struct value out = {.known = false};
    if (in->op[0].size != 64 || in->z.address_width != 64)
        return out;
    if (m->base == ZYDIS_REGISTER_RIP)
        return constant((s64)(in->pc + in->len + (u64)m->disp.value));
    u8 shift = m->scale ? (u8)__builtin_ctz(m->scale) : 0;
    if (!values_address(v, insn_gpr(m->base), insn_gpr(m->index), shift, m->disp.value, &out))
        out.known = false;
    return out;
}

/* The value of the one register this instruction computes; false if it is not a computable step. */
static bool computed(const struct values *v, const struct insn *in, u8 *to, struct value *out)
{
    const ZydisDecodedOperand *o = in->op;
    if (o[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
        return false;
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        *out = move_value(v, in, to);
        return *to != REG_NONE;
    case ZYDIS_MNEMONIC_LEA:
        *out = lea_value(v, in);
        *to = insn_gpr(o[0].reg.value);
        return true;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB: {
        if (!is_reg64(&o[0], to) || o[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
            break;
        s64 c = o[1].imm.value.s;
        *out = plus(v->reg[*to], in->z.mnemonic == ZYDIS_MNEMONIC_ADD ? c : (s64)(0 - (u64)c));
        return true;
    }
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC:
        if (!is_reg64(&o[0], to))
            return false;
        *out = plus(v->reg[*to], in->z.mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1);
        return true;
    default:
        break;
    }
    bool clears = (in->z.mnemonic == ZYDIS_MNEMONIC_XOR || in->z.mnemonic == ZYDIS_MNEMONIC_SUB) &&
                  o[1].type == ZYDIS_OPERAND_TYPE_REGISTER && o[0].reg.value == o[1].reg.value &&
                  o[0].size >= 32;
    *to = insn_gpr(o[0].reg.value);
    *out = constant(0);
    return clears && *to != REG_NONE;
}

void values_step(struct values *v, const struct insn *in)
{
    struct value rsp = v->reg[RSP], rbp = v->reg[RBP], out;
    u8 to = REG_NONE;
    bool known = computed(v, in, &to, &out);
    s64 step = insn_stack_step(in);
    for (u8 r = 0; r < 16; r++)
        if (in->changes & LIVE_REG(r))
            v->reg[r].known = false;
    if (known)
        v->reg[to] = out;
    if (step) {
        bool pops_rsp = in->z.mnemonic == ZYDIS_MNEMONIC_POP &&
                        in->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                        insn_gpr(in->op[0].reg.value) == RSP;
        if (!pops_rsp)
            v->reg[RSP] = plus(rsp, step);
    }
    if (in->z.mnemonic == ZYDIS_MNEMONIC_LEAVE && in->z.operand_width == 64)
        v->reg[RSP] = plus(rbp, 8);
    if (in->z.mnemonic == ZYDIS_MNEMONIC_ENTER) {
        u64 level = in->op[1].imm.value.u & 31;
        v->reg[RBP] = plus(rsp, -8);
        v->reg[RSP] = plus(rsp, -8 - 8 * (s64)level - (s64)(u16)in->op[0].imm.value.u);
    }
}
