/* SPDX-License-Identifier: MIT */
/* The rule of DEP: store a register only where the decoder could not compute it.
 *
 * A slot is stored with a plain mov through the record pointer, right before the instruction that
 * needs it, so that neither flags nor the program's stack are touched. */
#include "translate/state.h"

static s32 slot_at(u32 slot)
{
    return RECORD_SLOTS_AT + 8 * (s32)slot;
}

u8 slots_holder(const struct builder *b, u8 reg)
{
    return reg == R11 && exit_takes_r11(b) ? b->r11_in : reg;
}

u8 slots_register(struct builder *b, u8 reg)
{
    u8 slot = (u8)b->n_slots++;
    emit_store(b->e, slots_holder(b, reg), b->pointer, slot_at(slot));
    return slot;
}

static void make_known(struct builder *b, u8 reg)
{
    values_stored(&b->values, reg, slots_register(b, reg));
}

/* -- Vector and mask registers ---------------------------------------------------------------- */

static ZydisMnemonic vector_store(const struct builder *b, ZydisRegister r, u16 bytes)
{
    switch (ZydisRegisterGetClass(r)) {
    case ZYDIS_REGCLASS_MASK:
        return b->t->has_avx512bw ? ZYDIS_MNEMONIC_KMOVQ : ZYDIS_MNEMONIC_KMOVW;
    case ZYDIS_REGCLASS_MMX:
        return ZYDIS_MNEMONIC_MOVQ;
    default:
        return bytes == 64 || ZydisRegisterGetId(r) >= 16 ? ZYDIS_MNEMONIC_VMOVDQU64
                                                          : ZYDIS_MNEMONIC_VMOVDQU;
    }
}

u8 slots_vector(struct builder *b, ZydisRegister r, bool legacy)
{
    u16 bytes = (u16)(ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, r) / 8);
    u8 slot = (u8)b->n_slots;
    bool is_vector = bytes >= 16;
    ZydisEncoderRequest q = {.operand_count = 2};
    q.mnemonic = is_vector && legacy ? ZYDIS_MNEMONIC_MOVDQU : vector_store(b, r, bytes);
    q.operands[0].type = ZYDIS_OPERAND_TYPE_MEMORY;
    q.operands[0].mem.base = (ZydisRegister)(ZYDIS_REGISTER_RAX + b->pointer);
    q.operands[0].mem.displacement = slot_at(slot);
    q.operands[0].mem.size = q.mnemonic == ZYDIS_MNEMONIC_KMOVW ? 2 : is_vector ? bytes : 8;
    q.operands[1].type = ZYDIS_OPERAND_TYPE_REGISTER;
    q.operands[1].reg.value = r;
    if (q.mnemonic ==
        ZYDIS_MNEMONIC_VMOVDQU64) { /* an EVEX move wants its mask operand spelled out: k0, none */
        q.operand_count = 3;
        q.operands[2] = q.operands[1];
        q.operands[1].type = ZYDIS_OPERAND_TYPE_REGISTER;
        q.operands[1].reg.value = ZYDIS_REGISTER_K0;
    }
    emit_request(b->e, &q);
    b->n_slots += is_vector ? bytes / 8u : 1;
    return slot;
}

/* -- References ------------------------------------------------------------------------------- */

/* Make base and index computable and put the address into r. */
static void resolve_address(struct builder *b, const struct access *a, struct ref *r)
{
    struct value v;
    if (a->base != REG_NONE && !b->values.reg[a->base].known)
        make_known(b, a->base);
    if (a->index != REG_NONE && !b->values.reg[a->index].known)
        make_known(b, a->index);
    if (!values_address(&b->values, a->base, a->index, a->shift, a->disp, &v)) {
        /* Too many terms together: store the registers themselves, then there are two. */
        if (a->base != REG_NONE)
            make_known(b, a->base);
        if (a->index != REG_NONE &&
            !values_address(&b->values, a->base, a->index, a->shift, a->disp, &v))
            make_known(b, a->index);
        values_address(&b->values, a->base, a->index, a->shift, a->disp, &v);
    }
    r->a = v.a;
    r->b = v.b;
    r->shift = v.shift;
    r->disp = v.c;
}

void slots_effective(struct builder *b, const struct access *a, u8 s)
{
    bool narrow = a->flags & REF_ADDR32;
    ZydisRegister first = narrow ? ZYDIS_REGISTER_EAX : ZYDIS_REGISTER_RAX;
    if (a->base == REG_NONE && a->index == REG_NONE) {
        emit_imm(b->e, s, narrow ? (u32)a->disp : (u64)a->disp);
        return;
    }
    ZydisEncoderRequest q = {.mnemonic = ZYDIS_MNEMONIC_LEA, .operand_count = 2};
    q.operands[0].type = ZYDIS_OPERAND_TYPE_REGISTER;
    q.operands[0].reg.value = (ZydisRegister)(first + s); /* 32 bits clear the upper half */
    q.operands[1].type = ZYDIS_OPERAND_TYPE_MEMORY;
    q.operands[1].mem.size = narrow ? 4 : 8;
    q.operands[1].mem.displacement = a->disp;
    if (a->base != REG_NONE)
        q.operands[1].mem.base = (ZydisRegister)(first + slots_holder(b, a->base));
    if (a->index != REG_NONE) {
        q.operands[1].mem.index = (ZydisRegister)(first + slots_holder(b, a->index));
        q.operands[1].mem.scale = (ZyanU8)(1 << a->shift);
    }
    emit_request(b->e, &q);
}

/* XCOMP_BV, which tells the form of an xrstor's area, is in the program's memory: copy it into a
 * slot. */
static u8 store_xcomp(struct builder *b, const struct access *a)
{
    ZydisEncoderRequest q = {.mnemonic = ZYDIS_MNEMONIC_MOV, .operand_count = 2};
    u8 s = a->base == RCX || a->index == RCX || slots_holder(b, R11) == RCX ? RSI : RCX;
    if (s == RSI && (a->base == RSI || a->index == RSI || slots_holder(b, R11) == RSI))
        s = RDI;
    emit_gs_store(b->e, s, T_SPILL1);
    q.operands[0].type = ZYDIS_OPERAND_TYPE_REGISTER;
    q.operands[0].reg.value = (ZydisRegister)(ZYDIS_REGISTER_RAX + s);
    q.operands[1].type = ZYDIS_OPERAND_TYPE_MEMORY;
    q.operands[1].mem.size = 8;
    slots_effective(b, a, s);
    q.operands[1].mem.base = q.operands[0].reg.value;
    q.operands[1].mem.displacement = 520;
    if (a->seg == TERM_FS)
        q.prefixes |= ZYDIS_ATTRIB_HAS_SEGMENT_FS;
    emit_request(b->e, &q);
    u8 slot = (u8)b->n_slots++;
    emit_store(b->e, s, b->pointer, slot_at(slot));
    emit_gs_load(b->e, s, T_SPILL1);
    return slot;
}

/* The extra slots of the special forms, stored before the instruction. */
static void resolve_special(struct builder *b, const struct insn *in, const struct access *a,
                            struct ref *r)
{
    bool legacy = in->z.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
    switch (a->op) {
    case REF_BIT:
    case REF_XLAT:
        r->x = slots_register(b, a->bit_reg);
        break;
    case REF_MASK_K:
    case REF_PACK_K:
    case REF_ANY_K:
    case REF_MASK_V:
        r->x = slots_vector(b, a->mask, legacy);
        break;
    case REF_INDEX_K:
    case REF_INDEX_V:
        r->x = slots_vector(b, a->mask, false);
        r->y = slots_vector(b, a->vsib, false);
        r->shift = a->shift;
        break;
    case REF_XSAVE:
    case REF_XSAVEC:
    case REF_XRSTOR:
        r->x = slots_register(b, RAX);
        r->y = slots_register(b, RDX);
        if (a->op == REF_XRSTOR)
            r->z = store_xcomp(b, a);
        break;
    default:
        break;
    }
}

/* A gather's base takes part in the address alone; its shift belongs to the index vector. */
static void resolve_vsib_base(struct builder *b, const struct access *a, struct ref *r)
{
    struct access base = *a;
    base.shift = 0;
    resolve_address(b, &base, r);
    /* The shift field is needed for the index: the base must be one term. */
    if (r->b != TERM_NONE) {
        make_known(b, a->base);
        resolve_address(b, &base, r);
    }
}

bool slots_before(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct access a[ACCESS_LIMIT];
    if (!exit_tells_memory(b))
        return true;
    int n = insn_accesses(in, a);
    if (n < 0 || b->n_refs + (u32)n > UNIT_REFS ||
        (n && a[0].op == REF_XRSTOR && a[0].seg == TERM_GS))
        return false;
    u8 count = in->is_rep && n ? slots_register(b, RCX) : TERM_NONE;
    for (int k = 0; k < n; k++) {
        struct ref *r = &b->ref[b->n_refs++];
        *r = (struct ref){.size = a[k].size,
                          .insn = (u16)i,
                          .kind = a[k].kind,
                          .op = a[k].op,
                          .seg = a[k].seg,
                          .flags = a[k].flags,
                          .count = a[k].count,
                          .width = a[k].width,
                          .x = count,
                          .y = TERM_NONE,
                          .z = TERM_NONE};
        if (exit_tells_values(b)) {
            r->before = r->kind == REF_STORE ? VALUE_NONE : VALUE_UNKNOWN;
            r->after = r->kind == REF_LOAD ? VALUE_NONE : in->class == INSN_CALL || in->class == INSN_CALL_IND ? VALUE_NEXT : VALUE_UNKNOWN;
        }
        if (a[k].vsib)
            resolve_vsib_base(b, &a[k], r);
        else
            resolve_address(b, &a[k], r);
        resolve_special(b, in, &a[k], r);
        if (in->is_rep && k + 1 < n)
            r->flags |= REF_PAIRED;
    }
    b->insn_refs[i] = (u8)n;
    return true;
}

/* A rep instruction may stop early (cmps, scas), and its pointers' end values tell the direction.
 */
void slots_after(struct builder *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    if (!exit_tells_memory(b) || !in->is_rep || !b->insn_refs[i])
        return;
    bool may_stop =
        in->z.mnemonic == ZYDIS_MNEMONIC_CMPSB || in->z.mnemonic == ZYDIS_MNEMONIC_CMPSW ||
        in->z.mnemonic == ZYDIS_MNEMONIC_CMPSD || in->z.mnemonic == ZYDIS_MNEMONIC_CMPSQ ||
        in->z.mnemonic == ZYDIS_MNEMONIC_SCASB || in->z.mnemonic == ZYDIS_MNEMONIC_SCASW ||
        in->z.mnemonic == ZYDIS_MNEMONIC_SCASD || in->z.mnemonic == ZYDIS_MNEMONIC_SCASQ;
    u8 after = may_stop ? slots_register(b, RCX) : TERM_NONE;
    struct access a[ACCESS_LIMIT];
    int n = insn_accesses(in, a);
    for (int k = 0; k < n; k++) {
        struct ref *r = &b->ref[b->n_refs - (u32)n + (u32)k];
        r->y = after;
        r->z = slots_register(b, a[k].bit_reg);
    }
}

/* rsp must be one term plus a constant wherever a unit can be left. */
void slots_settle_rsp(struct builder *b)
{
    const struct value *v = &b->values.reg[RSP];
    if (exit_tells_memory(b) && (!v->known || v->b != TERM_NONE))
        make_known(b, RSP);
}
