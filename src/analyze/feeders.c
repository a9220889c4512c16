/* SPDX-License-Identifier: MIT */
/* Loads that make addresses: in a[b[i]], the load of b[i] feeds that of a[..].
 *
 * It is looked for where it can be seen for sure: in the same unit, backwards from the instruction whose address it is, through
 * instructions that make one register of another. What comes from another unit, or is made of two registers, has no feeder. */
#include "analyze/why.h"
#include "translate/insn.h"

static bool decode(struct insn *in, const struct unit_table *t, u32 insn)
{
    const struct unit_insn *i = &t->insns.v[insn];
    return insn_decode(in, i->pc, t->code.v + i->bytes, i->len);
}

/* Loads of nothing but a whole register. */
static bool is_load(const struct insn *in)
{
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
        return in->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER && in->op[1].type == ZYDIS_OPERAND_TYPE_MEMORY;
    default:
        return false;
    }
}

/* The only register that its result is made of; REG_NONE: there is none, or there are several. */
static u8 source_of(const struct insn *in)
{
    const u32 registers = in->reads & 0xffff;
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_CDQE:
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_AND:
        return registers && !(registers & (registers - 1)) ? (u8)__builtin_ctz(registers) : REG_NONE;
    default:
        return REG_NONE;
    }
}

/* The instruction before this one that loads what a register is made of; -1: it is not seen. */
static s64 loader_of(const struct unit_table *t, const struct unit *u, u32 insn, u8 reg)
{
    struct insn in;
    for (u32 i = insn; i-- > 0 && reg != REG_NONE;) {
        if (!decode(&in, t, u->insn0 + i))
            return -1;
        if (!(in.changes & LIVE_REG(reg)))
            continue;
        if (is_load(&in))
            return i;
        reg = source_of(&in);
    }
    return -1;
}

/* Of an instruction's reads, the point. */
static u32 point_of_load(const struct tally *t, const struct unit *u, s64 insn)
{
    for (u32 j = u->ref0; j < u->ref0 + u->n_refs && j < t->points[0].n; j++)
        if (t->table->refs.v[j].insn == insn && t->table->refs.v[j].kind == REF_LOAD)
            return t->points[0].v[j].point;
    return FEEDER_none;
}

/* The feeder of a plain reference, which is the only one of its instruction: that of its index, else of its base. */
static u32 feeder_of(const struct tally *t, const struct unit *u, const struct ref *r)
{
    struct insn in;
    struct access accesses[ACCESS_LIMIT];
    if (r->op != REF_PLAIN || !decode(&in, t->table, u->insn0 + r->insn) || insn_accesses(&in, accesses) != 1)
        return FEEDER_none;
    s64 loader = loader_of(t->table, u, r->insn, accesses[0].index);
    if (loader < 0)
        loader = loader_of(t->table, u, r->insn, accesses[0].base);
    return loader < 0 ? FEEDER_none : point_of_load(t, u, loader);
}

/* Whether there is something to be said of the point, and it does not go in steps. */
static bool is_irregular(const struct why_point *p)
{
    return why_misses(p->count) && p->walk.touches > 1 && 2 * p->walk.seen <= p->walk.touches;
}

void feeders_find(struct why *w, const struct tally *t)
{
    for (size_t k = 0; k < t->table->units.n; k++) {
        const struct unit *u = &t->table->units.v[k];
        for (u32 j = u->ref0; j < u->ref0 + u->n_refs && j < t->points[0].n; j++) {
            struct why_point *p = &w->points.v[t->points[0].v[j].point];
            const u32 feeder = is_irregular(p) ? feeder_of(t, u, &t->table->refs.v[j]) : FEEDER_none;
            if (feeder != FEEDER_none)
                p->feeder = !p->feeder || p->feeder == feeder ? feeder : FEEDER_several;
        }
    }
}
