/* SPDX-License-Identifier: MIT */
/* Control flow from the unit table: instructions are decoded once, exits summed up when they are first seen. */
#include "analyze/flow.h"
#include "base/err.h"
#include "translate/insn.h"
#include "wire/wire.h"

#include <stdlib.h>

struct flow_block {
    u64 pc;
    u32 number; /* + 1; 0: no block */
};

enum { FIRST_BLOCKS = 1024 };

void flow_init(struct flow *f, const struct unit_table *t, u32 *n_blocks)
{
    *f = (struct flow){.table = t, .n_blocks = n_blocks};
    f->insns = zeros(t->insns.n, sizeof *f->insns);
    f->units = zeros(t->units.n, sizeof *f->units);
    f->exits = zeros(t->exits.n, sizeof *f->exits);
    f->numbers = zeros(t->insns.n, sizeof *f->numbers);
    f->blocks = zeros(FIRST_BLOCKS, sizeof *f->blocks);
    f->blocks_mask = FIRST_BLOCKS - 1;
}

void flow_fini(struct flow *f)
{
    free(f->insns);
    free(f->units);
    free(f->exits);
    free(f->numbers);
    free(f->blocks);
    vec_fini(&f->starts);
    vec_fini(&f->outcomes);
}

/* -- Instructions ------------------------------------------------------------------------------ */

static enum flow_end end_of(u8 class)
{
    switch (class) {
    case INSN_JMP:
    case INSN_CALL:
        return FLOW_DIRECT;
    case INSN_JCC:
    case INSN_JCX:
        return FLOW_COND;
    case INSN_JMP_IND:
    case INSN_CALL_IND:
    case INSN_RET:
        return FLOW_INDIRECT;
    case INSN_SYSCALL:
        return FLOW_KERNEL;
    default:
        return FLOW_ON;
    }
}

static u16 register_bit(u8 r)
{
    return r == REG_NONE ? 0 : (u16)(1u << r);
}

/* The registers that an instruction's addresses follow from. A rep's count is one. */
static u16 address_registers(const struct insn *in)
{
    struct access access[ACCESS_LIMIT];
    int n = insn_accesses(in, access);
    u16 uses = in->is_rep && n > 0 ? register_bit(RCX) : 0;
    for (int i = 0; i < n; i++)
        uses |= register_bit(access[i].base) | register_bit(access[i].index) |
                register_bit(access[i].bit_reg);
    return uses;
}

/* Bytes that are no instruction, which only a forged table has, are one that does nothing. */
static struct flow_insn decode(const struct unit_table *t, const struct unit_insn *i)
{
    struct insn in;
    if (!insn_decode(&in, i->pc, t->code.v + i->bytes, i->len))
        return (struct flow_insn){0};
    struct flow_insn f = {.changes = (u16)in.changes, .end = end_of(in.class)};
    if (in.class == INSN_SYSCALL)
        f.changes |= register_bit(RAX);
    if (i->refs)
        f.uses = address_registers(&in);
    return f;
}

/* -- Units ------------------------------------------------------------------------------------- */

static u64 pc_behind(const struct unit_insn *in)
{
    return in->pc + in->len;
}

static const struct flow_unit *unit_of(struct flow *f, u32 unit)
{
    const struct unit *u = &f->table->units.v[unit];
    struct flow_unit *x = &f->units[unit];
    if (x->known)
        return x;
    *x = (struct flow_unit){
        .starts = (u32)f->starts.n, .outcomes = (u32)f->outcomes.n, .known = true};
    u8 before = FLOW_DIRECT;
    for (u32 i = u->insn0; i < u->insn0 + u->n_insns; i++) {
        const struct unit_insn *in = &f->table->insns.v[i];
        if (before == FLOW_COND)
            vec_push(&f->outcomes, in->pc != pc_behind(in - 1));
        if (before != FLOW_ON)
            vec_push(&f->starts, i);
        f->insns[i] = decode(f->table, in);
        before = f->insns[i].end;
    }
    x->n_starts = (u32)f->starts.n - x->starts;
    return x;
}

/* -- Paths ------------------------------------------------------------------------------------- */

/* One more instruction: what its addresses need first, then what it changes. */
static void add_registers(struct flow_path *p, const struct flow_insn *in)
{
    u16 touched = p->recorded | p->updated;
    p->needs |= in->uses & ~touched;
    p->values += (u32)__builtin_popcount(in->uses & p->updated);
    p->recorded = (u16)((p->recorded | in->uses) & ~in->changes);
    p->updated = (u16)((p->updated & ~in->uses) | in->changes);
}

/* The first n instructions of a unit, which led to the pc `target`. */
static struct flow_path make_path(struct flow *f, u32 unit, u32 n, u64 target)
{
    const struct flow_unit *x = unit_of(f, unit);
    u32 insn0 = f->table->units.v[unit].insn0, end = insn0 + n;
    struct flow_path p = {.starts = x->starts, .outcomes = x->outcomes, .known = true};
    while (p.n_starts < x->n_starts && f->starts.v[x->starts + p.n_starts] < end)
        p.n_starts++;
    for (u32 i = insn0; i < end; i++) {
        add_registers(&p, &f->insns[i]);
        p.n_outcomes += f->insns[i].end == FLOW_COND && i + 1 < end;
    }
    if (n) {
        p.end = f->insns[end - 1].end;
        p.taken = p.end == FLOW_COND && target != pc_behind(&f->table->insns.v[end - 1]);
    }
    return p;
}

/* A partial record goes on where its unit would have. */
static struct flow_path partial_path(struct flow *f, struct run_of run)
{
    const struct unit *u = &f->table->units.v[run.unit];
    const struct unit_insn *in = &f->table->insns.v[u->insn0];
    return make_path(f, run.unit, run.insns, run.insns < u->n_insns ? in[run.insns].pc : 0);
}

struct flow_path flow_of(struct flow *f, const struct walk *w, u32 i)
{
    u32 id = w->batch->exit[i];
    if (id < FIRST_EXIT_ID)
        return partial_path(f, walk_run(w, i));
    const struct unit_exit *x = &f->table->exits.v[id - FIRST_EXIT_ID];
    struct flow_path *p = &f->exits[id - FIRST_EXIT_ID];
    if (!p->known)
        *p = make_path(f, x->unit, x->insns, x->target);
    return *p;
}

/* -- Blocks ------------------------------------------------------------------------------------ */

/* Where the block that begins at pc stands, or would. */
static struct flow_block *find_block(struct flow_block *blocks, u32 mask, u64 pc)
{
    u32 at = (u32)(pc * 0x9e3779b97f4a7c15ull >> 32) & mask;
    while (blocks[at].number && blocks[at].pc != pc)
        at = (at + 1) & mask;
    return &blocks[at];
}

static void grow_blocks(struct flow *f)
{
    u32 size = f->blocks_mask + 1;
    struct flow_block *larger = zeros(2ul * size, sizeof *larger);
    for (u32 i = 0; i < size; i++)
        if (f->blocks[i].number)
            *find_block(larger, 2 * size - 1, f->blocks[i].pc) = f->blocks[i];
    free(f->blocks);
    f->blocks = larger;
    f->blocks_mask = 2 * size - 1;
}

static u32 number_block(struct flow *f, u64 pc)
{
    struct flow_block *b = find_block(f->blocks, f->blocks_mask, pc);
    if (b->number)
        return b->number;
    u32 number = ++*f->n_blocks;
    *b = (struct flow_block){pc, number};
    if (++f->blocks_used > f->blocks_mask / 2)
        grow_blocks(f);
    return number;
}

u32 flow_block(struct flow *f, u32 insn)
{
    if (!f->numbers[insn])
        f->numbers[insn] = number_block(f, f->table->insns.v[insn].pc);
    return f->numbers[insn] - 1;
}
