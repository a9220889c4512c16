/* SPDX-License-Identifier: MIT */
/* The encoder knows one way to write an instruction; assemblers and compilers know more. */
#include "code.h"

#include <string.h>

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
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(code_decoder(), bytes, len, &y, other)) ||
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

/* With a prefix that changes nothing, with a REX of 0, with a REX that a prefix cancels, from the
 * other side, or with three bytes of VEX. */
void code_respell(struct code *c, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op,
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
