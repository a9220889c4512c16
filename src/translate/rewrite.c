/* SPDX-License-Identifier: MIT */
/* Register fields are patched in the original bytes, not re-encoded: what we do not understand
 * stays as it was.
 *
 * All stand-in registers are among rax, rcx, rdx, rbx, rsi, rdi: their numbers are below 8, so the
 * extension bit of a patched field is simply cleared, and none of them means something special in
 * ModRM or SIB. */
#include "translate/rewrite.h"
#include "base/err.h"

#include <string.h>

/* -- Fields of an encoded instruction --------------------------------------------------------- */

enum field { FIELD_REG, FIELD_RM, FIELD_BASE, FIELD_INDEX, FIELD_VVVV, FIELD_OPCODE };

/* Clear the extension bit that belongs to a field: REX has it as is, VEX and EVEX inverted. */
static void clear_extension(const struct insn *in, u8 *code, enum field f)
{
    u8 rex_bit = f == FIELD_REG ? 4 : f == FIELD_INDEX ? 2 : 1;
    u8 vex_bit = f == FIELD_REG ? 0x80 : f == FIELD_INDEX ? 0x40 : 0x20;
    const ZydisDecodedInstructionRaw *raw = &in->z.raw;
    switch (in->z.encoding) {
    case ZYDIS_INSTRUCTION_ENCODING_VEX:
        if (raw->vex.size == 3 || f == FIELD_REG)
            code[raw->vex.offset + 1] |= vex_bit;
        break;
    case ZYDIS_INSTRUCTION_ENCODING_EVEX:
        code[raw->evex.offset + 1] |= vex_bit;
        break;
    case ZYDIS_INSTRUCTION_ENCODING_XOP:
        code[raw->xop.offset + 1] |= vex_bit;
        break;
    default:
        if (in->z.attributes & ZYDIS_ATTRIB_HAS_REX)
            code[raw->rex.offset] &= (u8)~rex_bit;
        break;
    }
}

static void set_vvvv(const struct insn *in, u8 *code, u8 reg)
{
    const ZydisDecodedInstructionRaw *raw = &in->z.raw;
    u8 *byte = in->z.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX
                   ? &code[raw->evex.offset + 2]
                   : &code[raw->vex.offset + raw->vex.size - 1];
    *byte = (u8)((*byte & ~0x78) | ((~reg & 15) << 3));
}

static void set_field(const struct insn *in, u8 *code, enum field f, u8 reg)
{
    const ZydisDecodedInstructionRaw *raw = &in->z.raw;
    u8 *modrm = &code[raw->modrm.offset], *sib = &code[raw->sib.offset];
    if (f != FIELD_VVVV)
        clear_extension(in, code, f);
    switch (f) {
    case FIELD_REG:
        *modrm = (u8)((*modrm & ~0x38) | reg << 3);
        break;
    case FIELD_RM:
        *modrm = (u8)((*modrm & ~7) | reg);
        break;
    case FIELD_BASE:
        *sib = (u8)((*sib & ~7) | reg);
        break;
    case FIELD_INDEX:
        *sib = (u8)((*sib & ~0x38) | reg << 3);
        break;
    case FIELD_VVVV:
        set_vvvv(in, code, reg);
        break;
    case FIELD_OPCODE: {
        u8 *opcode = &code[raw->rex.offset + 1 + (in->z.opcode_map == ZYDIS_OPCODE_MAP_0F)];
        *opcode = (u8)((*opcode & ~7) | reg);
        break;
    }
    }
}

static bool register_field(const ZydisDecodedOperand *o, enum field *f)
{
    switch (o->encoding) {
    case ZYDIS_OPERAND_ENCODING_MODRM_REG:
        *f = FIELD_REG;
        return true;
    case ZYDIS_OPERAND_ENCODING_MODRM_RM:
        *f = FIELD_RM;
        return true;
    case ZYDIS_OPERAND_ENCODING_OPCODE:
        *f = FIELD_OPCODE;
        return true;
    case ZYDIS_OPERAND_ENCODING_NDSNDD:
        *f = FIELD_VVVV;
        return true;
    default:
        return false;
    }
}

/* Put `reg` wherever the instruction names r11. */
static bool replace_r11(const struct insn *in, u8 *code, u8 reg)
{
    if (in->z.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
        in->z.encoding != ZYDIS_INSTRUCTION_ENCODING_VEX &&
        in->z.encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX)
        return false;
    bool has_sib = in->z.raw.sib.offset != 0;
    for (int i = 0; i < in->z.operand_count_visible; i++) {
        const ZydisDecodedOperand *o = &in->op[i];
        enum field f;
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && insn_gpr(o->reg.value) == R11) {
            if (!register_field(o, &f))
                return false;
            set_field(in, code, f, reg);
        }
        if (o->type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        if (insn_gpr(o->mem.base) == R11)
            set_field(in, code, has_sib ? FIELD_BASE : FIELD_RM, reg);
        if (insn_gpr(o->mem.index) == R11)
            set_field(in, code, FIELD_INDEX, reg);
    }
    return true;
}

/* -- rip-relative operands -------------------------------------------------------------------- */

static const ZydisDecodedOperand *memory_operand(const struct insn *in)
{
    for (int i = 0; i < in->z.operand_count_visible; i++)
        if (in->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
            return &in->op[i];
    return NULL;
}

bool insn_rip_target(const struct insn *in, u64 *target)
{
    const ZydisDecodedOperand *o = memory_operand(in);
    if (!o || (o->mem.base != ZYDIS_REGISTER_RIP && o->mem.base != ZYDIS_REGISTER_EIP))
        return false;
    *target = in->pc + in->len + (u64)o->mem.disp.value;
    if (o->mem.base == ZYDIS_REGISTER_EIP)
        *target = (u32)*target;
    return true;
}

bool insn_uses_gs(const struct insn *in)
{
    for (int i = 0; i < in->z.operand_count; i++)
        if (in->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
            in->op[i].mem.segment == ZYDIS_REGISTER_GS &&
            in->op[i].mem.type != ZYDIS_MEMOP_TYPE_AGEN)
            return true;
    return false;
}

/* Turn [rip + disp32] into [reg]: the displacement goes away, so the code becomes 4 bytes shorter.
 */
static size_t rip_to_register(const struct insn *in, u8 *code, size_t len, u8 reg)
{
    u8 at = in->z.raw.disp.offset;
    set_field(in, code, FIELD_RM, reg);
    memmove(code + at, code + at + 4, len - at - 4u);
    return len - 4;
}

static void fix_displacement(const struct insn *in, u8 *code, size_t len, u64 here, u64 target)
{
    s64 d = (s64)(target - (here + len));
    check(d == (s32)d);
    s32 d32 = (s32)d;
    memcpy(code + in->z.raw.disp.offset, &d32, 4);
}

/* -- The whole -------------------------------------------------------------------------------- */

bool rewrite_insn(struct emit *e, const struct insn *in, struct rewrite rw)
{
    u8 code[ZYDIS_MAX_INSTRUCTION_LENGTH];
    size_t len = in->len;
    u64 target;
    memcpy(code, in->bytes, len);
    if (rw.r11_as != REG_NONE && !replace_r11(in, code, rw.r11_as))
        return false;
    if (rw.rip_as != REG_NONE)
        len = rip_to_register(in, code, len, rw.rip_as);
    else if (insn_rip_target(in, &target))
        fix_displacement(in, code, len, emit_here(e), target);
    emit_bytes(e, code, len);
    return true;
}

void rewrite_target_load(struct emit *e, const struct insn *in, u8 reg, struct rewrite rw)
{
    u8 code[ZYDIS_MAX_INSTRUCTION_LENGTH];
    memcpy(code, in->bytes, in->len);
    if (rw.r11_as != REG_NONE)
        check(replace_r11(in, code, rw.r11_as));
    const ZydisDecodedInstructionRaw *raw = &in->z.raw;
    u8 rex = in->z.attributes & ZYDIS_ATTRIB_HAS_REX ? code[raw->rex.offset] & 3 : 0;
    u8 tail = (u8)(raw->modrm.offset + 1);
    u64 target;
    bool near = insn_rip_target(in, &target);
    ZydisRegister segment = memory_operand(in)->mem.segment;
    if (segment == ZYDIS_REGISTER_FS || segment == ZYDIS_REGISTER_GS)
        emit_8(e, segment == ZYDIS_REGISTER_FS ? 0x64 : 0x65);
    if (in->z.address_width == 32)
        emit_8(e, 0x67);
    emit_8(e, (u8)(0x48 | rex | (reg >> 3) << 2));
    emit_8(e, 0x8b);
    emit_8(e, (u8)((code[raw->modrm.offset] & ~0x38) | (reg & 7) << 3));
    if (near)
        emit_32(e, (u32)(target - (emit_here(e) + 4)));
    else
        emit_bytes(e, code + tail, (size_t)(in->len - tail));
}
