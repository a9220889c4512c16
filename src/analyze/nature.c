/* SPDX-License-Identifier: MIT */
/* Instructions as Zydis describes them, put into few words. */
#include "analyze/nature.h"
#include "base/err.h"
#include "wire/wire.h"

#include <string.h>

/* -- Where it goes ------------------------------------------------------------------------------ */

static enum goes goes_of(u8 class)
{
    switch (class) {
    case INSN_JCC:
    case INSN_JCX:
        return GOES_cond;
    case INSN_JMP:
        return GOES_jump;
    case INSN_CALL:
        return GOES_call;
    case INSN_JMP_IND:
        return GOES_ijump;
    case INSN_CALL_IND:
        return GOES_icall;
    case INSN_RET:
        return GOES_ret;
    case INSN_SYSCALL:
        return GOES_kernel;
    default:
        return GOES_on;
    }
}

static bool decode(struct insn *in, const struct unit_table *t, u32 insn)
{
    const struct unit_insn *i = &t->insns.v[insn];
    return insn_decode(in, i->pc, t->code.v + i->bytes, i->len);
}

enum goes nature_goes(const struct unit_table *t, u32 insn)
{
    struct insn in;
    return decode(&in, t, insn) ? goes_of(in.class) : GOES_on;
}

/* -- Registers ---------------------------------------------------------------------------------- */

static void add_register(struct registers *s, ZydisRegister r)
{
    ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
    u16 name = (u16)(wide ? wide : r);
    for (u32 i = 0; i < s->n; i++)
        if (s->v[i] == name)
            return;
    check(s->n < ARRAY_LEN(s->v));
    s->v[s->n++] = name;
}

/* The pc changes with every instruction, and of the segments only two have a base. */
static bool is_counted(ZydisRegister r)
{
    switch (ZydisRegisterGetClass(r)) {
    case ZYDIS_REGCLASS_INVALID:
    case ZYDIS_REGCLASS_IP:
        return false;
    case ZYDIS_REGCLASS_SEGMENT:
        return r == ZYDIS_REGISTER_FS || r == ZYDIS_REGISTER_GS;
    default:
        return true;
    }
}

static void add_counted(struct registers *s, ZydisRegister r)
{
    if (is_counted(r))
        add_register(s, r);
}

static void add_operand(struct nature *n, const ZydisDecodedOperand *o)
{
    if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
        add_counted(&n->reads, o->mem.base);
        add_counted(&n->reads, o->mem.index);
        add_counted(&n->reads, o->mem.segment);
    }
    if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return;
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
        add_counted(&n->reads, o->reg.value);
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
        add_counted(&n->writes, o->reg.value);
}

/* What Zydis 4.0 does not list: string instructions move their pointers, xlat reads al. */
static void add_unlisted(struct nature *n, const struct insn *in)
{
    const u32 moved = in->z.meta.category == ZYDIS_CATEGORY_STRINGOP ? in->changes : 0;
    if (moved & LIVE_REG(RSI))
        add_register(&n->writes, ZYDIS_REGISTER_RSI);
    if (moved & LIVE_REG(RDI))
        add_register(&n->writes, ZYDIS_REGISTER_RDI);
    if (in->z.mnemonic == ZYDIS_MNEMONIC_XLAT)
        add_register(&n->reads, ZYDIS_REGISTER_RAX);
}

/* -- Vectors ------------------------------------------------------------------------------------ */

static bool begins(const char *s, const char *with)
{
    return !strncmp(s, with, strlen(with));
}

static bool ends(const char *s, const char *with)
{
    size_t n = strlen(s), k = strlen(with);
    return n >= k && !strcmp(s + n - k, with);
}

/* By their names, which are regular: addsd, cvtss2si and movd are, pabsd and vpcompressd are not. */
static bool is_scalar(const char *name)
{
    static const char *const types[] = {"ss", "sd", "sh"}, *const sources[] = {"ss2", "sd2", "sh2"};
    const char *bare = name + (name[0] == 'v');
    if (!strcmp(bare, "movd") || !strcmp(bare, "movq"))
        return true;
    if (begins(bare, "p") || begins(bare, "broadcast"))
        return false;
    for (u32 i = 0; i < ARRAY_LEN(types); i++)
        if (ends(bare, types[i]) || strstr(bare, sources[i]))
            return true;
    return false;
}

static enum vector_kind width_of(ZydisRegister r)
{
    switch (ZydisRegisterGetClass(r)) {
    case ZYDIS_REGCLASS_MMX:
        return VECTOR_64;
    case ZYDIS_REGCLASS_XMM:
        return VECTOR_128;
    case ZYDIS_REGCLASS_YMM:
        return VECTOR_256;
    case ZYDIS_REGCLASS_ZMM:
        return VECTOR_512;
    default:
        return VECTOR_none;
    }
}

static enum vector_kind vector_of(const struct insn *in)
{
    enum vector_kind widest = VECTOR_none;
    for (int i = 0; i < in->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &in->op[i];
        enum vector_kind w = VECTOR_none;
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER)
            w = width_of(o->reg.value);
        else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY)
            w = width_of(o->mem.index);
        widest = MAX(widest, w);
    }
    if (widest == VECTOR_128 && is_scalar(ZydisMnemonicGetString(in->z.mnemonic)))
        return VECTOR_scalar;
    return widest;
}

/* -- The whole ---------------------------------------------------------------------------------- */

struct nature nature_of(const struct unit_table *t, u32 insn)
{
    struct nature n = {0};
    struct insn in;
    if (!decode(&in, t, insn))
        return n;
    n.mnemonic = (u16)in.z.mnemonic;
    n.category = (u16)in.z.meta.category;
    n.extension = (u16)in.z.meta.isa_ext;
    n.goes = (u8)goes_of(in.class);
    n.vector = (u8)vector_of(&in);
    for (int i = 0; i < in.z.operand_count; i++)
        add_operand(&n, &in.op[i]);
    add_unlisted(&n, &in);
    return n;
}
