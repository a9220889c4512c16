/* SPDX-License-Identifier: MIT */
/* The unit table's end of life, and the check that a table from a file cannot lead its reader
 * astray.
 *
 * The check is linear: the ranges of units ascend and do not overlap, so that no part of the table
 * is looked at twice, whatever the file says. */
#include "translate/unit.h"
#include "wire/wire.h"

#include <stdlib.h>

enum {
    INSN_LENGTH_LIMIT = 15,
    REF_SIZE_LIMIT = 4096, /* fxsave has 512; nothing with a static size comes near */
    VECTOR_BYTES = 64,
    PREFIX_LIMIT = 0xffff, /* exits count instructions and references in 16 bits */
};

/* What the first i instructions of a unit amount to. */
struct prefix {
    u16 refs;
    u8 slots; /* the most that any of these references looks at */
};

void unit_table_fini(struct unit_table *t)
{
    vec_fini(&t->units);
    vec_fini(&t->insns);
    vec_fini(&t->refs);
    vec_fini(&t->exits);
    vec_fini(&t->code);
}

/* -- References ------------------------------------------------------------------------------ */

static bool term_is_slot(u8 term)
{
    return term < TERM_SLOT_LIMIT;
}

static bool term_is_valid(u8 term)
{
    return term_is_slot(term) || term == TERM_RSP || term == TERM_FS || term == TERM_GS ||
           term == TERM_NONE;
}

/* The number of slots a record needs for this term. */
static u32 term_slots(u8 term)
{
    return term_is_slot(term) ? term + 1u : 0;
}

/* The same for a vector of `count` elements of `width` bytes, kept in successive slots. */
static u32 vector_slots(u8 first, u32 count, u32 width)
{
    return first + (count * width + 7) / 8;
}

static bool slot_or_none(u8 s)
{
    return term_is_slot(s) || s == TERM_NONE;
}

static bool element_width(u32 w)
{
    return w == 1 || w == 2 || w == 4 || w == 8;
}

static const char *masked_ref_fault(const struct ref *r)
{
    bool indexed = r->op == REF_INDEX_K || r->op == REF_INDEX_V;
    if (r->count == 0 || r->count > VECTOR_BYTES)
        return "a masked reference has an impossible number of elements";
    if (r->op != REF_ANY_K && r->count * r->size > VECTOR_BYTES)
        return "a masked reference is larger than a vector";
    if ((indexed || r->op == REF_MASK_V) && !(element_width(r->width) && element_width(r->size)))
        return "a masked reference has impossible elements";
    return NULL;
}

/* Which of x, y and z the decoder looks at without asking, as bits 0, 1 and 2. */
static u32 needed_slots(u8 op)
{
    switch (op) {
    case REF_PLAIN:
    case REF_LINE:
        return 0;
    case REF_REP:
        return 5;
    case REF_INDEX_K:
    case REF_INDEX_V:
    case REF_XSAVE:
    case REF_XSAVEC:
        return 3;
    case REF_XRSTOR:
        return 7;
    default:
        return 1;
    }
}

static bool lacks_slot(const struct ref *r)
{
    u32 need = needed_slots(r->op);
    return (need & 1 && !term_is_slot(r->x)) || (need & 2 && !term_is_slot(r->y)) ||
           (need & 4 && !term_is_slot(r->z));
}

static const char *special_ref_fault(const struct ref *r)
{
    if (lacks_slot(r))
        return "a reference lacks a slot";
    switch (r->op) {
    case REF_REP:
        return r->width > 1 || (r->width && !element_width(r->size)) ? "a reference has impossible elements" : NULL;
    case REF_BIT:
    case REF_LINE:
        return r->size & (r->size - 1) ? "a reference's cell is not a power of two" : NULL;
    case REF_MASK_K:
    case REF_PACK_K:
    case REF_ANY_K:
    case REF_MASK_V:
    case REF_INDEX_K:
    case REF_INDEX_V:
        return masked_ref_fault(r);
    default:
        return NULL;
    }
}

static bool size_is_dynamic(const struct ref *r)
{
    return r->op == REF_XSAVE || r->op == REF_XSAVEC || r->op == REF_XRSTOR;
}

u32 unit_value_size(const struct ref *r)
{
    if (r->op == REF_REP)
        return r->width ? REP_DATA : r->size;
    return r->op >= REF_MASK_K && r->op <= REF_INDEX_V && r->op != REF_ANY_K ? r->count * r->size : r->size;
}

/* A value of a reference; `has` says whether the reference can have it at all. */
static bool value_is_sound(const struct ref *r, u8 value, bool has)
{
    if (value_is_kept(value))
        return has && value <= TERM_SLOT_LIMIT && !size_is_dynamic(r);
    return value == VALUE_NONE || (has && (value == VALUE_UNKNOWN || r->size == 8));
}

static const char *ref_fault(const struct ref *r)
{
    if (r->kind > REF_MODIFY || r->op >= REF_OP_LIMIT)
        return "a reference is of no known kind";
    if (r->flags & ~(REF_PAIRED | REF_ADDR32))
        return "a reference has unknown flags";
    if (r->size > REF_SIZE_LIMIT || (r->size == 0 && !size_is_dynamic(r)))
        return "a reference has an impossible size";
    if (!term_is_valid(r->a) || !term_is_valid(r->b) || r->shift > 63)
        return "a reference has an impossible term";
    if (r->seg != TERM_NONE && r->seg != TERM_FS && r->seg != TERM_GS)
        return "a reference has an impossible segment";
    if (!slot_or_none(r->x) || !slot_or_none(r->y) || !slot_or_none(r->z))
        return "a reference has an impossible slot";
    if (!value_is_sound(r, r->before, r->kind != REF_STORE) || !value_is_sound(r, r->after, r->kind != REF_LOAD))
        return "a reference has an impossible value";
    return special_ref_fault(r);
}

/* The number of slots a record needs for a value. */
static u32 value_slots(const struct ref *r, u8 value)
{
    return value_is_kept(value) ? value - 1 + (unit_value_size(r) + 7) / 8 : 0;
}

u32 unit_ref_slots(const struct ref *r)
{
    u32 n = MAX(term_slots(r->a), term_slots(r->b));
    n = MAX(n, MAX(term_slots(r->x), MAX(term_slots(r->y), term_slots(r->z))));
    if (r->op == REF_MASK_V)
        n = MAX(n, vector_slots(r->x, r->count, r->width));
    if (r->op == REF_INDEX_V)
        n = MAX(n, vector_slots(r->x, r->count, r->size));
    if (r->op == REF_INDEX_K || r->op == REF_INDEX_V)
        n = MAX(n, vector_slots(r->y, r->count, r->width));
    return MAX(n, MAX(value_slots(r, r->before), value_slots(r, r->after)));
}

/* Paired references stand side by side in one rep instruction. `left` counts those after this one.
 */
static bool pairing_is_sound(const struct ref *r, u32 left)
{
    if (!(r->flags & REF_PAIRED))
        return true;
    return left && r->op == REF_REP && r[1].op == REF_REP && !(r[1].flags & REF_PAIRED);
}

/* -- Units ----------------------------------------------------------------------------------- */

/* Check one instruction's `n` references, the first of which is refs[at], and extend the prefix. */
static const char *insn_refs_fault(const struct ref *refs, u32 at, u32 n, u32 insn,
                                   struct prefix *p)
{
    for (u32 i = 0; i < n; i++) {
        const struct ref *r = &refs[at + i];
        const char *fault = ref_fault(r);
        if (fault)
            return fault;
        if (r->insn != insn)
            return "a reference belongs to another instruction";
        if (!pairing_is_sound(r, n - i - 1))
            return "a reference is paired with nothing";
        u32 slots = unit_ref_slots(r);
        if (slots > TERM_SLOT_LIMIT)
            return "a reference has an impossible slot";
        p->slots = (u8)MAX(p->slots, slots);
    }
    p->refs = (u16)(p->refs + n);
    return NULL;
}

/* Check a unit's instructions and their references; prefix[i] is what the first i amount to. */
static const char *path_fault(const struct unit_table *t, const struct unit *u,
                              struct prefix *prefix)
{
    prefix[0] = (struct prefix){0};
    for (u32 i = 0; i < u->n_insns; i++) {
        const struct unit_insn *in = &t->insns.v[u->insn0 + i];
        if (in->len == 0 || in->len > INSN_LENGTH_LIMIT)
            return "an instruction has an impossible length";
        if ((u64)in->bytes + in->len > t->code.n)
            return "an instruction's bytes lie outside the table";
        prefix[i + 1] = prefix[i];
        if (prefix[i].refs + in->refs > (int)u->n_refs)
            return "the instructions of a unit have more references than the unit";
        if (in->watch >= WATCH_LIMIT || in->slot + watch_slots(in->watch) > TERM_SLOT_LIMIT)
            return "an instruction is watched in an impossible way";
        if (in->watch)
            prefix[i + 1].slots = (u8)MAX(prefix[i].slots, in->slot + watch_slots(in->watch));
        u32 at = u->ref0 + prefix[i].refs;
        const char *fault = insn_refs_fault(t->refs.v, at, in->refs, i, &prefix[i + 1]);
        if (fault)
            return fault;
    }
    return prefix[u->n_insns].refs == u->n_refs ? NULL : "a reference belongs to no instruction";
}

static const char *exit_fault(const struct unit_exit *x, u32 unit, const struct unit *u,
                              const struct prefix *prefix)
{
    if (x->unit != unit)
        return "an exit belongs to another unit";
    if (x->insns > u->n_insns || x->refs != prefix[x->insns].refs)
        return "an exit leaves outside its unit";
    if (x->kind >= EXIT_KIND_LIMIT)
        return "an exit is of no known kind";
    if (x->slots > TERM_SLOT_LIMIT || x->slots < prefix[x->insns].slots)
        return "an exit has fewer slots than its references need";
    if (!term_is_valid(x->rsp_term) || term_slots(x->rsp_term) > x->slots)
        return "an exit has no stack pointer";
    return NULL;
}

static const char *exits_fault(const struct unit_table *t, u32 unit, const struct prefix *prefix)
{
    const struct unit *u = &t->units.v[unit];
    for (u32 i = 0; i < u->n_exits; i++) {
        const char *fault = exit_fault(&t->exits.v[u->exit0 + i], unit, u, prefix);
        if (fault)
            return fault;
    }
    return NULL;
}

/* Where the last unit's ranges ended. */
struct ends {
    u64 insn, ref, exit;
};

static const char *ranges_fault(const struct unit_table *t, const struct unit *u, struct ends *e)
{
    if (u->insn0 < e->insn || u->ref0 < e->ref || u->exit0 < e->exit)
        return "a unit overlaps the one before it";
    e->insn = (u64)u->insn0 + u->n_insns;
    e->ref = (u64)u->ref0 + u->n_refs;
    e->exit = (u64)u->exit0 + u->n_exits;
    if (e->insn > t->insns.n || e->ref > t->refs.n || e->exit > t->exits.n)
        return "a unit reaches beyond the table";
    if (u->n_insns == 0 || u->n_insns > PREFIX_LIMIT || u->n_refs > PREFIX_LIMIT)
        return "a unit has an impossible number of instructions or references";
    if (u->pc != t->insns.v[u->insn0].pc)
        return "a unit does not begin with its first instruction";
    return NULL;
}

/* An exit that stands in no unit's range would name a unit that does not know it. */
static const char *units_fault(const struct unit_table *t, struct prefix *prefix)
{
    struct ends ends = {0};
    u64 owned_exits = 0;
    for (u32 i = 0; i < t->units.n; i++) {
        const struct unit *u = &t->units.v[i];
        const char *fault = ranges_fault(t, u, &ends);
        if (!fault)
            fault = path_fault(t, u, prefix);
        if (!fault)
            fault = exits_fault(t, i, prefix);
        if (fault)
            return fault;
        owned_exits += u->n_exits;
    }
    return owned_exits == t->exits.n ? NULL : "an exit belongs to no unit";
}

const char *unit_table_fault(const struct unit_table *t)
{
    if (t->exits.n > EXIT_ID_LIMIT - FIRST_EXIT_ID)
        return "there are more exits than ids";
    if (t->units.n > t->insns.n)
        return "there are more units than instructions";
    VEC(struct prefix) prefix = {0};
    vec_grow(&prefix, PREFIX_LIMIT + 1)[0] = (struct prefix){0};
    const char *fault = units_fault(t, prefix.v);
    vec_fini(&prefix);
    return fault;
}
