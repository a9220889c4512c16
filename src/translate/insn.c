/* SPDX-License-Identifier: MIT */
/* Decode with Zydis and reduce to what the translator asks: class, registers, flags, accesses. */
#include "translate/insn.h"
#include "wire/wire.h"

#include <stddef.h>
#include <string.h>

/* -- Classes ---------------------------------------------------------------------------------- */

/* Mnemonics that are not simply copied. Conditional jumps are recognised by category. */
static enum insn_class class_by_mnemonic(ZydisMnemonic m)
{
    switch (m) {
    case ZYDIS_MNEMONIC_JCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
        return INSN_JCX;
    case ZYDIS_MNEMONIC_SYSCALL:
        return INSN_SYSCALL;
    case ZYDIS_MNEMONIC_POPF: /* may set the trap flag */
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_WRFSBASE:
    case ZYDIS_MNEMONIC_WRGSBASE:
        return INSN_STATE;
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_CLI:
    case ZYDIS_MNEMONIC_STI:
        return INSN_TRAP;
    /* Not yet: far control transfers and the other kernel entries. */
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_LGS:
        return INSN_REFUSED;
    default:
        return INSN_PLAIN;
    }
}

static bool writes_segment(const struct insn *in)
{
    for (int i = 0; i < in->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &in->op[i];
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
            (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
            ZydisRegisterGetClass(o->reg.value) == ZYDIS_REGCLASS_SEGMENT)
            return true;
    }
    return false;
}

/* A branch with an operand size prefix: AMD cuts the pc to 16 bits, Intel does not care. */
static bool is_short_branch(const struct insn *in)
{
    return in->z.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE &&
           in->z.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE && !in->z.raw.rex.W;
}

static enum insn_class classify(const struct insn *in)
{
    bool direct = in->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    if (is_short_branch(in))
        return INSN_REFUSED;
    if (in->z.mnemonic == ZYDIS_MNEMONIC_XABORT) /* nothing outside of a transaction, or a fault */
        return INSN_TRAP;
    switch (in->z.meta.category) {
    case ZYDIS_CATEGORY_UNCOND_BR:
        if (in->z.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
            return INSN_REFUSED;
        return direct ? INSN_JMP : INSN_JMP_IND;
    case ZYDIS_CATEGORY_CALL:
        if (in->z.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
            return INSN_REFUSED;
        return direct ? INSN_CALL : INSN_CALL_IND;
    case ZYDIS_CATEGORY_RET:
        if (in->z.mnemonic != ZYDIS_MNEMONIC_RET ||
            in->z.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR || in->z.operand_width != 64)
            return INSN_REFUSED;
        return INSN_RET;
    default:
        break;
    }
    enum insn_class c = class_by_mnemonic(in->z.mnemonic);
    if (c == INSN_PLAIN && in->z.meta.category == ZYDIS_CATEGORY_COND_BR)
        return direct
                   ? INSN_JCC
                   : INSN_REFUSED; /* Zydis knows a branch on a mask that no processor of ours has */
    if (c == INSN_PLAIN && writes_segment(in))
        return INSN_STATE;
    return c;
}

/* -- Registers and flags ---------------------------------------------------------------------- */

u8 insn_gpr(ZydisRegister r)
{
    if (r == ZYDIS_REGISTER_NONE || r == ZYDIS_REGISTER_RIP || r == ZYDIS_REGISTER_EIP)
        return REG_NONE;
    ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
    if (wide < ZYDIS_REGISTER_RAX || wide > ZYDIS_REGISTER_R15)
        return REG_NONE;
    return (u8)(wide - ZYDIS_REGISTER_RAX);
}

static u8 flag_bits(u32 mask)
{
    return (u8)((mask & ZYDIS_CPUFLAG_CF ? FLAG_CF : 0) | (mask & ZYDIS_CPUFLAG_PF ? FLAG_PF : 0) |
                (mask & ZYDIS_CPUFLAG_AF ? FLAG_AF : 0) | (mask & ZYDIS_CPUFLAG_ZF ? FLAG_ZF : 0) |
                (mask & ZYDIS_CPUFLAG_SF ? FLAG_SF : 0) | (mask & ZYDIS_CPUFLAG_OF ? FLAG_OF : 0));
}

static bool is_shift(const struct insn *in)
{
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SAR:
    case ZYDIS_MNEMONIC_ROL:
    case ZYDIS_MNEMONIC_ROR:
    case ZYDIS_MNEMONIC_RCL:
    case ZYDIS_MNEMONIC_RCR:
    case ZYDIS_MNEMONIC_SHLD:
    case ZYDIS_MNEMONIC_SHRD:
        return true;
    default:
        return false;
    }
}

/* A shift by a count that may be zero leaves the flags alone. */
static bool flags_may_survive(const struct insn *in)
{
    if (!is_shift(in))
        return in->is_rep;
    const ZydisDecodedOperand *count = &in->op[in->z.operand_count_visible - 1];
    return count->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || (count->imm.value.u & 31) == 0;
}

static void note_flags(struct insn *in)
{
    const ZydisAccessedFlags *f = in->z.cpu_flags;
    if (!f)
        return;
    u32 written = f->modified | f->set_0 | f->set_1;
    /* The logic operations leave AF undefined on paper and cleared in every processor made. */
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_OR:
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_TEST:
        written |= f->undefined;
        break;
    default:
        break;
    }
    in->reads |= (u32)flag_bits(f->tested) << 16;
    if (!flags_may_survive(in))
        in->writes |= (u32)flag_bits(written) << 16;
}

/* Zydis 4.0 calls these destinations overwritten; but a bit scan of zero leaves its own alone, and so
 * does rdssp without a shadow stack. */
static bool keeps_destination(const struct insn *in)
{
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_BSF:
    case ZYDIS_MNEMONIC_BSR:
    case ZYDIS_MNEMONIC_RDSSPD:
    case ZYDIS_MNEMONIC_RDSSPQ:
        return true;
    default:
        return false;
    }
}

static void note_register(struct insn *in, const ZydisDecodedOperand *o)
{
    u8 r = insn_gpr(o->reg.value);
    if (r == REG_NONE)
        return;
    u32 bit = LIVE_REG(r);
    in->names |= bit;
    bool whole =
        o->size >= 32 && !(o->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) && !keeps_destination(in);
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
        in->reads |= bit;
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
        in->changes |= bit;
        if (whole)
            in->writes |= bit;
        else
            in->reads |= bit; /* part of the old value survives */
    }
}

static void note_memory(struct insn *in, const ZydisDecodedOperand *o)
{
    u8 base = insn_gpr(o->mem.base), index = insn_gpr(o->mem.index);
    u32 bits = (base != REG_NONE ? LIVE_REG(base) : 0) | (index != REG_NONE ? LIVE_REG(index) : 0);
    in->reads |= bits;
    in->names |= bits;
}

/* xor r,r and sub r,r do not care what r was. */
static bool clears_itself(const struct insn *in)
{
    return (in->z.mnemonic == ZYDIS_MNEMONIC_XOR || in->z.mnemonic == ZYDIS_MNEMONIC_SUB) &&
           in->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           in->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           in->op[0].reg.value == in->op[1].reg.value && in->op[0].size >= 32;
}

static bool is_string(const struct insn *in)
{
    return in->z.meta.category == ZYDIS_CATEGORY_STRINGOP ||
           in->z.meta.category == ZYDIS_CATEGORY_IOSTRINGOP;
}

static void note_operands(struct insn *in)
{
    for (int i = 0; i < in->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &in->op[i];
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER)
            note_register(in, o);
        else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY)
            note_memory(in, o);
    }
    if (clears_itself(in))
        in->reads &= ~LIVE_REG(insn_gpr(in->op[0].reg.value));
    if (is_string(in)) { /* Zydis 4.0 does not list that cmps and scas move their pointers */
        u32 moved = in->names & (LIVE_REG(RSI) | LIVE_REG(RDI));
        in->reads |= moved;
        in->changes |= moved;
    }
    if (in->z.mnemonic == ZYDIS_MNEMONIC_XLAT)
        in->reads |= LIVE_REG(RAX), in->names |= LIVE_REG(RAX);
    if (in->class == INSN_SYSCALL || in->class == INSN_TRAP || in->class == INSN_REFUSED) {
        in->reads = LIVE_ALL;
        in->writes = 0;
    }
}

/* -- Decoding --------------------------------------------------------------------------------- */

static ZydisDecoder decoder;

/* Before main: several threads decode. */
__attribute__((constructor)) static void init_decoder(void)
{
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    /* Linux has given MPX up: its instructions are the nops they were before. */
    ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE);
}

static bool has_rep(const ZydisDecodedInstruction *z)
{
    return z->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

static void note_all(struct insn *in)
{
    in->reads = in->writes = in->changes = in->names = 0;
    note_operands(in);
    note_flags(in);
}

static void place(struct insn *in, u64 pc, const u8 *bytes)
{
    bool direct = in->class == INSN_JMP || in->class == INSN_JCC || in->class == INSN_JCX || in->class == INSN_CALL;
    in->pc = pc;
    memcpy(in->bytes, bytes, in->len);
    in->target = direct ? pc + in->len + (u64)in->op[0].imm.value.s : 0;
}

bool insn_decode(struct insn *in, u64 pc, const u8 *bytes, size_t size)
{
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size, &in->z, in->op)))
        return false;
    in->len = in->z.length;
    in->class = classify(in);
    in->is_rep = is_string(in) && has_rep(&in->z);
    place(in, pc, bytes);
    note_all(in);
    return true;
}

void insn_copy(struct insn *to, const struct insn *from)
{
    memcpy(to, from, offsetof(struct insn, op) + from->z.operand_count * sizeof from->op[0]);
}

static u64 number_at(const u8 *bytes, u8 bits, bool is_signed)
{
    u64 x = 0;
    memcpy(&x, bytes, bits / 8);
    return is_signed ? (u64)((s64)(x << (64 - bits)) >> (64 - bits)) : x;
}

void insn_renew(struct insn *in, u64 pc, const u8 *bytes)
{
    ZydisDecodedInstructionRaw *raw = &in->z.raw;
    if (raw->disp.size)
        raw->disp.value = (s64)number_at(bytes + raw->disp.offset, raw->disp.size, true);
    u32 k = 0;
    for (u32 i = 0; i < in->z.operand_count; i++) {
        ZydisDecodedOperand *o = &in->op[i];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.disp.has_displacement)
            o->mem.disp.value = raw->disp.value;
        if (o->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || k == ARRAY_LEN(raw->imm) || !raw->imm[k].size)
            continue;
        raw->imm[k].value.u = number_at(bytes + raw->imm[k].offset, raw->imm[k].size, raw->imm[k].is_signed);
        o->imm.value.u = raw->imm[k++].value.u;
    }
    place(in, pc, bytes);
    if (k && is_shift(in)) /* by 0, perhaps */
        note_all(in);
}

s64 insn_stack_step(const struct insn *in)
{
    s64 width = in->z.operand_width / 8;
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
        return -width;
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
        return width;
    case ZYDIS_MNEMONIC_CALL:
        return -8;
    case ZYDIS_MNEMONIC_RET:
        return 8 +
               (in->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? (s64)in->op[0].imm.value.u : 0);
    default:
        return 0;
    }
}

/* -- Accesses --------------------------------------------------------------------------------- */

static u8 segment_term(ZydisRegister s)
{
    return s == ZYDIS_REGISTER_FS ? TERM_FS : s == ZYDIS_REGISTER_GS ? TERM_GS : TERM_NONE;
}

static u8 log2_of(u32 x)
{
    return x ? (u8)__builtin_ctz(x) : 0;
}

static struct access from_operand(const struct insn *in, const ZydisDecodedOperand *o)
{
    struct access a = {.size = o->size / 8u,
                       .base = insn_gpr(o->mem.base),
                       .index = insn_gpr(o->mem.index),
                       .shift = log2_of(o->mem.scale),
                       .seg = segment_term(o->mem.segment),
                       .disp = o->mem.disp.value,
                       .bit_reg = REG_NONE};
    if (o->mem.base == ZYDIS_REGISTER_RIP || o->mem.base == ZYDIS_REGISTER_EIP)
        a.disp += (s64)(in->pc + in->len);
    if (in->z.address_width == 32)
        a.flags |= REF_ADDR32;
    bool r = o->actions & ZYDIS_OPERAND_ACTION_MASK_READ,
         w = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    a.kind = r && w ? REF_MODIFY : w ? REF_STORE : REF_LOAD;
    return a;
}

static struct access stack_access(u32 size, u8 kind, u8 base, s64 disp)
{
    return (struct access){.size = size,
                           .kind = kind,
                           .base = base,
                           .index = REG_NONE,
                           .seg = TERM_NONE,
                           .disp = disp,
                           .bit_reg = REG_NONE};
}

/* Touches nothing although it names memory. */
static bool names_only(const struct insn *in)
{
    switch (in->z.meta.category) {
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_NOP:
        return true;
    default:
        break;
    }
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
    case ZYDIS_MNEMONIC_CLWB:
    case ZYDIS_MNEMONIC_CLDEMOTE:
    case ZYDIS_MNEMONIC_INVLPG:
    case ZYDIS_MNEMONIC_PREFETCHW:
    case ZYDIS_MNEMONIC_PREFETCHWT1:
        return true;
    default:
        return false;
    }
}

static const ZydisDecodedOperand *visible_memory(const struct insn *in)
{
    for (int i = 0; i < in->z.operand_count_visible; i++)
        if (in->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
            return &in->op[i];
    return NULL;
}

/* Does the instruction take the faults of elements that its mask leaves out? The classes ending in
 * NF do, and four that Zydis 4.0 has in the wrong class. */
static bool ignores_mask_for_faults(const struct insn *in)
{
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_VCVTNE2PS2BF16:
    case ZYDIS_MNEMONIC_VDBPSADBW:
    case ZYDIS_MNEMONIC_VGF2P8AFFINEQB:
    case ZYDIS_MNEMONIC_VGF2P8AFFINEINVQB:
        return true;
    default:
        break;
    }
    switch (in->z.meta.exception_class) {
    case ZYDIS_EXCEPTION_CLASS_E1NF:
    case ZYDIS_EXCEPTION_CLASS_E2NF:
    case ZYDIS_EXCEPTION_CLASS_E3NF:
    case ZYDIS_EXCEPTION_CLASS_E4NF:
    case ZYDIS_EXCEPTION_CLASS_E5NF:
    case ZYDIS_EXCEPTION_CLASS_E6NF:
    case ZYDIS_EXCEPTION_CLASS_E9NF:
    case ZYDIS_EXCEPTION_CLASS_E10NF:
    case ZYDIS_EXCEPTION_CLASS_E11NF:
        return true;
    default:
        return false;
    }
}

static bool is_packing(ZydisMnemonic m)
{
    switch (m) {
    case ZYDIS_MNEMONIC_VPCOMPRESSB:
    case ZYDIS_MNEMONIC_VPCOMPRESSW:
    case ZYDIS_MNEMONIC_VPCOMPRESSD:
    case ZYDIS_MNEMONIC_VPCOMPRESSQ:
    case ZYDIS_MNEMONIC_VCOMPRESSPS:
    case ZYDIS_MNEMONIC_VCOMPRESSPD:
    case ZYDIS_MNEMONIC_VPEXPANDB:
    case ZYDIS_MNEMONIC_VPEXPANDW:
    case ZYDIS_MNEMONIC_VPEXPANDD:
    case ZYDIS_MNEMONIC_VPEXPANDQ:
    case ZYDIS_MNEMONIC_VEXPANDPS:
    case ZYDIS_MNEMONIC_VEXPANDPD:
        return true;
    default:
        return false;
    }
}

/* The number of mask bits that matter: elements of the widest element type in the vector length. */
static u8 mask_bits(const struct insn *in)
{
    u32 widest = 8;
    for (int i = 0; i < in->z.operand_count_visible; i++) {
        const ZydisDecodedOperand *o = &in->op[i];
        bool vector = o->type == ZYDIS_OPERAND_TYPE_MEMORY ||
                      (o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->size >= 128);
        if (vector && o->encoding != ZYDIS_OPERAND_ENCODING_MASK && o->element_size > widest)
            widest = o->element_size;
    }
    return (u8)(in->z.avx.vector_length / widest);
}

/* A memory operand under an AVX-512 writemask. */
static void apply_writemask(const struct insn *in, const ZydisDecodedOperand *o, struct access *a)
{
    if (in->z.encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX ||
        in->z.avx.mask.reg == ZYDIS_REGISTER_NONE || in->z.avx.mask.reg == ZYDIS_REGISTER_K0 ||
        ignores_mask_for_faults(in))
        return;
    a->mask = in->z.avx.mask.reg;
    if (in->z.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID) {
        a->op = REF_ANY_K;
        a->count = mask_bits(in);
        return;
    }
    a->op = is_packing(in->z.mnemonic) ? REF_PACK_K : REF_MASK_K;
    a->count = (u8)o->element_count;
    a->size = o->element_size / 8u;
    if (a->kind == REF_MODIFY)
        a->kind = REF_STORE;
}

/* Gathers and scatters: data elements of the operand's size, indices of 4 or 8 bytes as the
 * mnemonic says. */
static bool index_width(ZydisMnemonic m, u8 *width)
{
    switch (m) {
    case ZYDIS_MNEMONIC_VPGATHERDD:
    case ZYDIS_MNEMONIC_VPGATHERDQ:
    case ZYDIS_MNEMONIC_VGATHERDPS:
    case ZYDIS_MNEMONIC_VGATHERDPD:
    case ZYDIS_MNEMONIC_VPSCATTERDD:
    case ZYDIS_MNEMONIC_VPSCATTERDQ:
    case ZYDIS_MNEMONIC_VSCATTERDPS:
    case ZYDIS_MNEMONIC_VSCATTERDPD:
        *width = 4;
        return true;
    case ZYDIS_MNEMONIC_VPGATHERQD:
    case ZYDIS_MNEMONIC_VPGATHERQQ:
    case ZYDIS_MNEMONIC_VGATHERQPS:
    case ZYDIS_MNEMONIC_VGATHERQPD:
    case ZYDIS_MNEMONIC_VPSCATTERQD:
    case ZYDIS_MNEMONIC_VPSCATTERQQ:
    case ZYDIS_MNEMONIC_VSCATTERQPS:
    case ZYDIS_MNEMONIC_VSCATTERQPD:
        *width = 8;
        return true;
    default:
        return false;
    }
}

static int vsib_access(const struct insn *in, const ZydisDecodedOperand *o, struct access *a)
{
    u8 width;
    if (!index_width(in->z.mnemonic, &width))
        return in->z.meta.category == ZYDIS_CATEGORY_PREFETCH ? 0 : -1;
    *a = from_operand(in, o);
    a->index = REG_NONE;
    a->vsib = o->mem.index;
    a->width = width;
    a->size = o->element_size / 8u;
    a->kind = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? REF_STORE : REF_LOAD;
    u32 vsib_bits = (u32)ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, o->mem.index);
    const ZydisDecodedOperand *data = o == &in->op[0] ? &in->op[2] : &in->op[0];
    u32 by_index = vsib_bits / (8u * width), by_data = data->size / (8u * a->size);
    a->count = (u8)MIN(by_index, by_data);
    if (in->z.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
        a->op = REF_INDEX_K;
        a->mask = in->z.avx.mask.reg;
    } else {
        a->op = REF_INDEX_V;
        a->mask = in->op[2].reg.value;
    }
    return 1;
}

/* Instructions whose accesses do not follow from an ordinary operand. Returns -2 if this is not one
 * of them. */
static int special_accesses(const struct insn *in, struct access *out)
{
    const ZydisDecodedOperand *m = visible_memory(in);
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_ENTER: {
        int level = (int)(in->op[1].imm.value.u & 31), n = 0;
        for (int i = 1; i < level; i++)
            out[n++] = stack_access(8, REF_LOAD, RBP, -8 * i);
        int stores = level ? level + 1 : 1;
        for (int i = 1; i <= stores; i++)
            out[n++] = stack_access(8, REF_STORE, RSP, -8 * i);
        return in->z.operand_width == 64 ? n : -1;
    }
    case ZYDIS_MNEMONIC_XLAT:
        out[0] = from_operand(in, &in->op[0]);
        out[0].op = REF_XLAT;
        out[0].bit_reg = RAX;
        return 1;
    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTC:
        if (!m || in->op[1].type != ZYDIS_OPERAND_TYPE_REGISTER)
            return -2;
        out[0] = from_operand(in, m);
        out[0].op = REF_BIT;
        out[0].bit_reg = insn_gpr(in->op[1].reg.value);
        return 1;
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU: {
        const ZydisDecodedOperand *mask = &in->op[1], *dest = &in->op[2];
        out[0] = from_operand(in, dest);
        out[0].kind = REF_STORE;
        out[0].op = REF_MASK_V;
        out[0].size = out[0].width = 1;
        out[0].count = in->z.mnemonic == ZYDIS_MNEMONIC_MASKMOVQ ? 8 : 16;
        out[0].mask = mask->reg.value;
        return 1;
    }
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
        out[0] = from_operand(in, m);
        out[0].op = REF_MASK_V;
        out[0].size = out[0].width = (u8)(m->element_size / 8);
        out[0].count = (u8)m->element_count;
        out[0].mask = in->op[1].reg.value;
        return 1;
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64: {
        bool compact =
            in->z.mnemonic == ZYDIS_MNEMONIC_XSAVEC || in->z.mnemonic == ZYDIS_MNEMONIC_XSAVEC64;
        out[0] = from_operand(in, m);
        out[0].kind = REF_STORE;
        out[0].op = compact ? REF_XSAVEC : REF_XSAVE;
        return 1;
    }
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
        out[0] = from_operand(in, m);
        out[0].kind = REF_LOAD;
        out[0].op = REF_XRSTOR;
        return 1;
    case ZYDIS_MNEMONIC_CLZERO:
        out[0] = stack_access(64, REF_STORE, RAX, 0);
        out[0].flags = in->z.address_width == 32 ? REF_ADDR32 : 0;
        out[0].op = REF_LINE;
        return 1;
    default: /* a tile's rows follow from state that nothing records yet */
        return in->z.meta.category == ZYDIS_CATEGORY_AMX_TILE && m ? -1 : -2;
    }
}

/* Stack operands are listed by Zydis as [rsp]; say where they are relative to rsp before the
 * instruction. */
static void place_stack_operand(const struct insn *in, const ZydisDecodedOperand *o,
                                struct access *a)
{
    if (o->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN) {
        if (in->z.mnemonic == ZYDIS_MNEMONIC_POP && a->base == RSP)
            a->disp += (s64)in->z.operand_width / 8;
        return;
    }
    if (a->base == RSP && a->kind == REF_STORE)
        a->disp -= (s64)a->size;
    if (a->base == RSP || in->z.mnemonic == ZYDIS_MNEMONIC_LEAVE)
        a->flags &= (u8)~REF_ADDR32;
}

static int ordinary_accesses(const struct insn *in, struct access *out)
{
    int n = 0;
    for (int i = 0; i < in->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &in->op[i];
        if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
            o->mem.type == ZYDIS_MEMOP_TYPE_MIB)
            continue;
        if (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
            return vsib_access(in, o, out);
        struct access a = from_operand(in, o);
        if (a.size == 0 || a.size > 4096)
            return -1;
        place_stack_operand(in, o, &a);
        apply_writemask(in, o, &a);
        if (in->is_rep) {
            a.op = REF_REP;
            a.bit_reg = a.base; /* the pointer's end value tells the direction */
        }
        out[n++] = a;
    }
    return n;
}

/* Loads and modifies first, then stores; cmps lists rsi before rdi. */
static void put_in_order(const struct insn *in, struct access *a, int n)
{
    if (n != 2)
        return;
    bool swap = a[0].kind == REF_STORE && a[1].kind != REF_STORE;
    bool is_cmps = is_string(in) && a[0].kind == REF_LOAD && a[1].kind == REF_LOAD;
    if (is_cmps && a[0].base == RDI)
        swap = true;
    if (!swap)
        return;
    struct access t = a[0];
    a[0] = a[1];
    a[1] = t;
}

int insn_accesses(const struct insn *in, struct access out[ACCESS_LIMIT])
{
    if (names_only(in))
        return 0;
    int n = special_accesses(in, out);
    if (n != -2)
        return n;
    n = ordinary_accesses(in, out);
    put_in_order(in, out, n);
    return n;
}
