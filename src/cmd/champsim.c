/* SPDX-License-Identifier: MIT */
/* Events as the records of ChampSim's traces: one of 64 bytes for each instruction.
 *
 *     0  u64     ip                            16  u64[2]  addresses written
 *     8  u8      is it a branch                32  u64[4]  addresses read
 *     9  u8      was it taken                      0: none
 *    10  u8[2]   registers written
 *    12  u8[4]   registers read, 0: none
 *
 * ChampSim tells kinds of branches by whether they read and write the stack pointer (6), the flags (25)
 * and the instruction pointer (26), and whether they read anything else:
 *
 *                         reads             writes
 *     direct jump         26                26
 *     indirect jump       others            26
 *     conditional         26, 25 or others  26
 *     direct call         26, 6             26, 6
 *     indirect call       26, 6, others     26, 6
 *     return              6                 26, 6
 *
 * So these three come first in a branch's record; nothing else ever writes 26, and nothing but these
 * reads it: an address relative to it is a constant, and waits for no branch. A jump or call through
 * memory that needs no register, or only the stack pointer, reads REG_TARGET instead. */
#include "cmd/champsim.h"
#include "cmd/cmd.h"
#include "translate/insn.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

/* Registers have the numbers of Intel's Pin, as in the traces of ChampSim's own tracer; a part of a
 * register counts as the whole. Above REG_IP Pin's numbers change from version to version: these are ours. */
enum {
    REG_SP = 6,
    REG_FLAGS = 25,
    REG_IP = 26,
    REG_TARGET = 27, /* never written: where a jump leads that reads memory only */
    REG_VECTOR = 64, /* xmm0, ymm0, zmm0 */
    REG_MASK = 96,   /* k0 */
    REG_X87 = 104,   /* st0, and mm0 */
};

struct record {
    u64 ip;
    u8 is_branch, taken;
    u8 writes[2], reads[4];
    u64 written[2], read[4];
};
_Static_assert(sizeof(struct record) == 64, "ChampSim's records have 64 bytes");

/* What does not change from one execution of an instruction to the next. */
struct fixed {
    bool known, is_branch, is_conditional;
    u8 writes[2], reads[4];
};

struct champsim {
    const struct trace *trace;
    struct fixed **fixed; /* of each process's unit table, by instruction; NULL until asked for */
    struct record now;
    bool filling; /* `now` is an instruction that may touch more */
    u64 lost;     /* references that did not fit */
};

/* -- Registers ------------------------------------------------------------------------------- */

/* ChampSim's number of a register, 0 if it has none. */
static u8 number_of(ZydisRegister r)
{
    /* rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 ... r15; es, cs, ss, ds, fs, gs */
    static const u8 general[] = {10, 9, 8, 7, 6, 5, 4, 3, 11, 12, 13, 14, 15, 16, 17, 18};
    static const u8 segment[] = {22, 19, 20, 21, 23, 24};
    u8 gpr = insn_gpr(r), id = (u8)ZydisRegisterGetId(r);
    if (gpr != REG_NONE)
        return general[gpr];
    switch (ZydisRegisterGetClass(r)) {
    case ZYDIS_REGCLASS_FLAGS:
        return REG_FLAGS;
    case ZYDIS_REGCLASS_SEGMENT:
        return id < ARRAY_LEN(segment) ? segment[id] : 0;
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
        return (u8)(REG_VECTOR + id);
    case ZYDIS_REGCLASS_MASK:
        return (u8)(REG_MASK + id);
    case ZYDIS_REGCLASS_X87:
    case ZYDIS_REGCLASS_MMX:
        return (u8)(REG_X87 + id);
    default: /* the instruction pointer, which branches add themselves, and what programs do not order by */
        return 0;
    }
}

/* Add a register to a list of n if there is room; each once. */
static void add(u8 *list, size_t n, u8 number)
{
    for (size_t i = 0; number && i < n; i++) {
        if (list[i] && list[i] != number)
            continue;
        list[i] = number;
        return;
    }
}

static void add_read(struct fixed *f, u8 number)
{
    add(f->reads, ARRAY_LEN(f->reads), number);
}

static void add_written(struct fixed *f, u8 number)
{
    add(f->writes, ARRAY_LEN(f->writes), number);
}

/* Add the registers of one operand, `but` excepted: either the flags or all others. */
static void add_operand(struct fixed *f, const ZydisDecodedOperand *o, bool flags, u8 but)
{
    if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && !flags) {
        u8 base = number_of(o->mem.base), index = number_of(o->mem.index);
        add_read(f, base == but ? 0 : base);
        add_read(f, index == but ? 0 : index);
    }
    u8 number = o->type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(o->reg.value) : 0;
    if (number == but || (number == REG_FLAGS) != flags)
        return;
    /* What may stay as it is depends on what it was. */
    if (o->actions & (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_CONDWRITE))
        add_read(f, number);
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
        add_written(f, number);
}

/* The same for all operands, the hidden ones too; the flags last. */
static void add_operands(struct fixed *f, const struct insn *in, u8 but)
{
    for (int i = 0; i < in->z.operand_count; i++)
        add_operand(f, &in->op[i], false, but);
    for (int i = 0; i < in->z.operand_count; i++)
        add_operand(f, &in->op[i], true, but);
}

/* Is nothing read that could tell where a branch leads? */
static bool reads_no_other(const struct fixed *f)
{
    for (size_t i = 0; i < ARRAY_LEN(f->reads) && f->reads[i]; i++)
        if (f->reads[i] != REG_SP && f->reads[i] != REG_IP && f->reads[i] != REG_FLAGS)
            return false;
    return true;
}

static void learn(struct fixed *f, const struct insn *in)
{
    u8 but = 0;
    *f = (struct fixed){.known = true, .is_branch = true};
    switch (in->class) {
    case INSN_JCC:
    case INSN_JCX:
        f->is_conditional = true;
        add_read(f, REG_IP);
        break;
    case INSN_JMP:
        add_read(f, REG_IP);
        break;
    case INSN_JMP_IND:
        but = REG_SP;
        break;
    case INSN_CALL:
    case INSN_CALL_IND:
        add_read(f, REG_IP);
        add_read(f, REG_SP);
        break;
    case INSN_RET:
        add_read(f, REG_SP);
        break;
    default:
        f->is_branch = false;
    }
    if (f->is_branch)
        add_written(f, REG_IP);
    add_operands(f, in, but);
    if ((in->class == INSN_JMP_IND || in->class == INSN_CALL_IND) && reads_no_other(f))
        add_read(f, REG_TARGET);
}

/* -- Instructions ---------------------------------------------------------------------------- */

static const struct fixed *fixed_of(struct champsim *c, const struct place *at)
{
    const struct walk *w = at->walk;
    const struct unit_table *t = w->table;
    struct fixed **all = &c->fixed[w->trace->pieces.v[w->window.piece].memory];
    if (!*all)
        *all = calloc(t->insns.n, sizeof **all);
    if (!*all)
        die("there is not enough memory for %lu instructions", (unsigned long)t->insns.n);
    struct fixed *f = &(*all)[at->insn - t->insns.v];
    struct insn in;
    if (f->known)
        return f;
    if (!insn_decode(&in, at->insn->pc, t->code.v + at->insn->bytes, at->insn->len))
        die("%s: what ran at %lx is no instruction; gait verify says more", c->trace->store.path,
            (unsigned long)at->insn->pc);
    learn(f, &in);
    return f;
}

/* Where a branch that may fall through led. Its record knows: the path goes on, or the exit has a
 * target; a partial record stopped before the path's next instruction. */
static u64 next_pc(const struct place *at)
{
    const struct walk *w = at->walk;
    u32 id = w->batch->exit[at->record];
    struct run_of run = walk_run(w, at->record);
    bool path_goes_on = at->k + 1 < w->table->units.v[run.unit].n_insns;
    if (at->k + 1 < run.insns || (id < FIRST_EXIT_ID && path_goes_on))
        return at->insn[1].pc;
    return id < FIRST_EXIT_ID ? 0 : w->table->exits.v[id - FIRST_EXIT_ID].target;
}

static bool write_record(struct lines *l, struct champsim *c)
{
    char *p = line_begin(l);
    c->filling = false;
    memcpy(p, &c->now, sizeof c->now);
    return line_commit(l, p + sizeof c->now);
}

static bool champsim_insn(struct lines *l, const struct place *at)
{
    struct champsim *c = l->own;
    if (c->filling && !write_record(l, c))
        return false;
    const struct fixed *f = fixed_of(c, at);
    c->filling = true;
    c->now = (struct record){.ip = at->insn->pc, .is_branch = f->is_branch, .taken = f->is_branch};
    if (f->is_conditional)
        c->now.taken = next_pc(at) != at->insn->pc + at->insn->len;
    memcpy(c->now.writes, f->writes, sizeof f->writes);
    memcpy(c->now.reads, f->reads, sizeof f->reads);
    return true;
}

static void add_address(struct champsim *c, u64 *list, size_t n, u64 address)
{
    for (size_t i = 0; address && i < n; i++) {
        if (list[i])
            continue;
        list[i] = address;
        return;
    }
    c->lost++;
}

static bool champsim_ref(struct lines *l, const struct place *at, u8 kind, u64 address, u32 size)
{
    struct champsim *c = l->own;
    (void)at;
    (void)size;
    if (kind != REF_STORE)
        add_address(c, c->now.read, ARRAY_LEN(c->now.read), address);
    if (kind != REF_LOAD)
        add_address(c, c->now.written, ARRAY_LEN(c->now.written), address);
    return true;
}

static void champsim_end(struct lines *l)
{
    struct champsim *c = l->own;
    if (c->filling)
        write_record(l, c);
    if (c->lost)
        warn("%lu memory references did not fit into ChampSim's records and were left out",
             (unsigned long)c->lost);
}

const struct form champsim_form = {.insn = champsim_insn, .ref = champsim_ref, .end = champsim_end};

struct champsim *champsim_begin(struct lines *l, const struct trace *t)
{
    struct champsim *c = calloc(1, sizeof *c);
    if (c)
        c->fixed = calloc(t->processes.n + 1, sizeof *c->fixed);
    if (!c || !c->fixed)
        die("there is not enough memory for %lu processes", (unsigned long)t->processes.n);
    c->trace = t;
    l->own = c;
    return c;
}

void champsim_free(struct champsim *c)
{
    for (size_t i = 0; c && i < c->trace->processes.n; i++)
        free(c->fixed[i]);
    if (c)
        free(c->fixed);
    free(c);
}
