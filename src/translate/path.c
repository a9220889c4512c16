/* SPDX-License-Identifier: MIT */
/* Which instructions make a unit, and whether its flags matter.
 *
 * A path runs straight on, through direct jumps, and past a few conditional branches (each a side
 * exit), and ends at anything whose next pc is not known, at a backward conditional branch (a loop:
 * its body should be entered at its head), when it would meet itself, or when it is long enough. */
#include "translate/state.h"

#include <string.h>

/* Past how many conditional branches a unit goes on. Measured with bench/speed: see
 * docs/architecture.md. */
enum { DEFAULT_BLOCKS = 6, LOOK_INSNS = 16, LOOK_DEPTH = 2 };

/* Decoding is most of what translation costs, and each instruction is looked at several times: for the flags of those before it, as a
 * part of one path, as the head of another. So the latest are kept, unless they may change at any moment. */
const struct insn *path_decode(struct translator *t, u64 pc)
{
    struct decoded *d = &t->decoded[(pc ^ pc >> 10) % DECODED];
    if (d->age == t->age && d->insn.pc == pc)
        return &d->insn;
    u8 bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
    size_t n = t->config.fetch(t->config.ctx, pc, bytes, sizeof bytes);
    d->age = 0;
    if (!n || !mould_decode(t->moulds, &d->insn, pc, bytes, n))
        return NULL;
    if (!volatile_insn(t, &d->insn))
        d->age = t->age;
    return &d->insn;
}

bool path_take(struct builder *b, u64 pc)
{
    const struct insn *in = path_decode(b->t, pc);
    if (in)
        insn_copy(&b->insn[b->n_insns], in);
    return in != NULL;
}

void path_look_page(struct translator *t, u64 page)
{
    if (!t->looked.n || t->looked.v[t->looked.n - 1] != page)
        vec_push(&t->looked, page);
}

/* Decode what is not part of the unit: it will depend on these bytes all the same. Volatile code is
 * not looked at: it may be something else when the program comes there. */
const struct insn *path_look(struct translator *t, u64 pc)
{
    const struct insn *in = volatile_at(t, pc) ? NULL : path_decode(t, pc);
    if (in && volatile_insn(t, in))
        in = NULL;
    path_look_page(t, pc >> 12);
    path_look_page(t, (pc + (in ? in->len : 1) - 1) >> 12);
    return in;
}

/* The most slots an instruction can need: two registers, twice if they make too many terms; and the masks and indices of the special
 * forms. */
u32 path_slots(const struct builder *b, const struct insn *in)
{
    u32 special = in->is_rep ? 16 : 0;
    if (!exit_tells_memory(b))
        return 0;
    if (in->z.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
        for (u32 k = 0; k < in->z.operand_count; k++)
            if (in->op[k].type == ZYDIS_OPERAND_TYPE_MEMORY)
                special = in->op[k].mem.type == ZYDIS_MEMOP_TYPE_VSIB ? 16 : 4;
    return 4 + special + copies_slots(b, in);
}

static bool in_path(const struct builder *b, u64 pc)
{
    for (u32 i = 0; i < b->n_insns; i++)
        if (b->insn[i].pc == pc)
            return true;
    return false;
}

/* A unit is volatile or stable as a whole. */
static bool fits(struct builder *b, const struct insn *in)
{
    bool is_volatile = volatile_insn(b->t, in);
    if (b->n_insns == 0)
        b->is_volatile = is_volatile;
    return is_volatile == b->is_volatile;
}

static u32 most_insns(const struct builder *b)
{
    u32 limit = b->is_volatile ? VOLATILE_INSNS : COLD_INSNS, set = b->t->config.unit_insns;
    if (version_is_crossing(b))
        return 1;
    return set ? MIN(set, limit) : limit;
}

enum step { STEP_ON, STEP_LAST, STEP_STOP_BEFORE };

/* What an instruction does to the path; sets b->next to where the path would go on. */
static enum step path_step(struct builder *b, const struct insn *in, u32 blocks, u32 limit_blocks)
{
    bool first = b->n_insns == 0;
    b->next = in->pc + in->len;
    switch (in->class) {
    case INSN_PLAIN:
        return STEP_ON;
    case INSN_JMP:
        b->next = in->target;
        return STEP_ON;
    case INSN_JMP_IND:
        switch (linkage_of(b->t, in, &b->next)) {
        case LINKAGE_none:
            return STEP_LAST;
        case LINKAGE_unbound:
            return first ? STEP_LAST : STEP_STOP_BEFORE;
        default:
            return STEP_ON;
        }
    case INSN_JCC:
        return in->target <= in->pc || blocks >= limit_blocks ? STEP_LAST : STEP_ON;
    case INSN_REFUSED:
    case INSN_TRAP:
        return first ? STEP_LAST : STEP_STOP_BEFORE;
    default:
        return STEP_LAST;
    }
}

u64 path_way_on(const struct builder *b, u32 i)
{
    return i + 1 < b->n_insns ? b->insn[i + 1].pc : b->next;
}

/* A small loop that stores nothing is laid out several times over: its gate would be a good part of it. */
static void repeat(struct builder *b)
{
    enum { MOST_INSNS = 96, ROUND_INSNS = 32, MOST_ROUNDS = 8 };
    const struct insn *last = &b->insn[b->n_insns - 1];
    u32 n = b->n_insns;
    if (last->class != INSN_JCC || last->target != b->pc || n > ROUND_INSNS || exit_records(b) || b->is_volatile || b->t->config.all_gates)
        return;
    u32 rounds = MIN(MOST_INSNS / n, (u32)MOST_ROUNDS);
    for (u32 round = 1; round < rounds; round++)
        for (u32 i = 0; i < n; i++)
            insn_copy(&b->insn[b->n_insns++], &b->insn[i]);
}

bool path_form(struct builder *b)
{
    struct translator *t = b->t;
    u32 limit_blocks =
        t->config.unit_blocks ? MIN(t->config.unit_blocks - 1, UNIT_EXITS / 2) : DEFAULT_BLOCKS;
    u32 blocks = 0, slots = 0;
    b->n_insns = 0;
    b->falls_off = true;
    b->is_volatile = b->stack_stores = false;
    bool turned = false; /* back, once: it may meet itself */
    for (u64 pc = b->pc; b->n_insns < most_insns(b); pc = b->next) {
        struct insn *in = &b->insn[b->n_insns];
        turned |= b->n_insns && pc <= b->insn[b->n_insns - 1].pc;
        if (b->n_insns && ((turned && in_path(b, pc)) || version_parts(b, pc)))
            return true;
        if (!path_take(b, pc)) {
            b->next = pc;
            return b->n_insns > 0 ||
                   err_set(b->err, "the bytes at 0x%llx are not an instruction this version knows",
                           (unsigned long long)pc) == 0;
        }
        slots += path_slots(b, in);
        if ((b->n_insns && version_tells(b, in)) || !fits(b, in) || (b->n_insns && slots > UNIT_SLOTS)) {
            b->next = pc;
            return true;
        }
        enum step s = path_step(b, in, blocks, limit_blocks);
        if (s == STEP_STOP_BEFORE) {
            b->next = pc;
            return true;
        }
        blocks += in->class == INSN_JCC;
        b->n_insns++;
        if (s == STEP_LAST) {
            b->falls_off = false;
            repeat(b);
            return true;
        }
        if (b->is_volatile && !volatile_goes_on(b, in))
            return true;
    }
    return true;
}

bool path_is_trampoline(struct translator *t, u64 pc)
{
    const struct insn *in;
    for (int i = 0; i < 2 && (in = path_look(t, pc)); i++, pc += in->len) {
        u64 target;
        if (in->class == INSN_JMP_IND)
            return !linkage_goes_on(t, in, &target);
        if (in->z.mnemonic != ZYDIS_MNEMONIC_ENDBR64)
            return false;
    }
    return false;
}

/* -- Flags ------------------------------------------------------------------------------------ */

/* Follow the code from pc until every flag in `undecided` was read or written; what stays open
 * counts as read. */
static u32 look(struct translator *t, u64 pc, u32 undecided, int depth)
{
    u32 live = 0;
    u64 target;
    for (int i = 0; i < LOOK_INSNS && undecided; i++) {
        const struct insn *in = path_look(t, pc);
        if (!in)
            break;
        live |= undecided & in->reads;
        undecided &= ~(in->reads | in->writes);
        if (!undecided)
            break;
        pc += in->len;
        switch (in->class) {
        case INSN_PLAIN:
            continue;
        case INSN_JMP:
        case INSN_CALL:
            pc = in->target;
            continue;
        case INSN_JMP_IND:
            switch (linkage_of(t, in, &target)) {
            case LINKAGE_none:
                return live | undecided;
            case LINKAGE_constant:
                pc = target;
                continue;
            default:
                return live;
            }
        case INSN_JCC:
            if (depth == 0)
                return live | undecided;
            live |= look(t, in->target, undecided, depth - 1);
            undecided &= ~live;
            continue;
        default:
            return live | undecided;
        }
    }
    return live | undecided;
}

u32 flags_live_at(struct translator *t, u64 pc, u32 mask)
{
    return look(t, pc, mask & LIVE_FLAGS, LOOK_DEPTH);
}

u32 flags_live_in(struct builder *b)
{
    u32 live = 0, undecided = LIVE_FLAGS;
    u64 target;
    for (u32 i = 0; i < b->n_insns && undecided; i++) {
        const struct insn *in = &b->insn[i];
        live |= undecided & in->reads;
        undecided &= ~(in->reads | in->writes);
        if (in->class == INSN_JCC && undecided) {
            u64 fall = in->pc + in->len;
            live |= flags_live_at(b->t, path_way_on(b, i) == fall ? in->target : fall, undecided);
            undecided &= ~live;
        }
        enum linkage l = in->class == INSN_JMP_IND ? linkage_of(b->t, in, &target) : LINKAGE_none;
        if (l == LINKAGE_bound || l == LINKAGE_unbound)
            return live;
        if (i + 1 < b->n_insns &&
            (in->class == INSN_RET || (in->class == INSN_JMP_IND && l == LINKAGE_none) || in->class == INSN_CALL_IND))
            return live | undecided; /* it may go elsewhere */
    }
    if (!undecided)
        return live;
    const struct insn *last = &b->insn[b->n_insns - 1];
    if (b->falls_off || last->class == INSN_JCC) /* there, `next` is the way not taken */
        return live | flags_live_at(b->t, b->next, undecided);
    if (last->class == INSN_CALL)
        return live | flags_live_at(b->t, last->target, undecided);
    return live | undecided;
}
