/* SPDX-License-Identifier: MIT */
/* The stack pointer along the path of a unit. */
#include "analyze/stacksteps.h"
#include "base/err.h"
#include "translate/insn.h"
#include "wire/wire.h"

#include <stdlib.h>

_Static_assert((u64)STACK_PAGES * STACK_PAGE_EXITS >= EXIT_ID_LIMIT, "every exit has its place");

/* The stack pointer at one point: term + disp, or not known. */
struct point {
    u64 disp;
    u8 term;
    bool known;
};

/* An instruction of the path. */
struct place {
    struct point behind;
    u64 delta;     /* how it moves the stack pointer */
    bool constant; /* it does so by delta */
    u8 class;
};

struct path {
    const struct unit_table *table;
    const struct unit *unit;
    const struct unit_insn *insns;
    u32 n;
    u8 slots; /* that its records have */
    u64 to;   /* where it leads; 0: not known */
    struct place *places;
};

/* -- Instructions ------------------------------------------------------------------------------- */

static bool is_rsp(const ZydisDecodedOperand *o)
{
    return o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->reg.value == ZYDIS_REGISTER_RSP;
}

/* How far an instruction that is no push, pop, call or return moves the stack pointer; false if not by a constant. */
static bool other_step(const struct insn *in, u64 *delta)
{
    const ZydisDecodedOperand *o = in->op;
    *delta = 0;
    if (!(in->changes & LIVE_REG(RSP)))
        return true;
    if (in->z.mnemonic == ZYDIS_MNEMONIC_ENTER) {
        *delta = 0 - (8 + 8 * (o[1].imm.value.u & 31) + (u16)o[0].imm.value.u);
        return true;
    }
    if (!is_rsp(&o[0]))
        return false;
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_ADD:
        *delta = (u64)o[1].imm.value.s;
        return o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    case ZYDIS_MNEMONIC_SUB:
        *delta = 0 - (u64)o[1].imm.value.s;
        return o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    case ZYDIS_MNEMONIC_LEA:
        *delta = (u64)o[1].mem.disp.value;
        return o[1].mem.base == ZYDIS_REGISTER_RSP && o[1].mem.index == ZYDIS_REGISTER_NONE;
    default:
        return false;
    }
}

static bool step_of(const struct insn *in, u64 *delta)
{
    bool pops_rsp = in->z.mnemonic == ZYDIS_MNEMONIC_POP && is_rsp(&in->op[0]);
    *delta = pops_rsp ? 0 : (u64)insn_stack_step(in);
    return *delta || (!pops_rsp && other_step(in, delta));
}

/* Its reference tells rbp, and so the stack pointer. */
static bool is_leave(const struct insn *in)
{
    return in->z.mnemonic == ZYDIS_MNEMONIC_LEAVE && in->z.operand_width == 64;
}

/* The register `base` before an instruction, if one of its references goes through it and nothing else. */
static struct point point_from_refs(const struct insn *in, const struct ref *r, u32 n, u8 base,
                                    u8 slots)
{
    struct access access[ACCESS_LIMIT];
    struct point p = {0};
    if (!n || insn_accesses(in, access) != (int)n)
        return p;
    for (u32 k = 0; k < n && !p.known; k++) {
        const struct access *a = &access[k];
        if (a->base != base || a->index != REG_NONE || a->seg != TERM_NONE || a->flags)
            continue;
        if (a->op != REF_PLAIN || r[k].op != REF_PLAIN || r[k].flags || r[k].b != TERM_NONE)
            continue;
        if (r[k].a < TERM_SLOT_LIMIT && r[k].a >= slots) /* a partial record does not have it */
            continue;
        p = (struct point){(u64)r[k].disp - (u64)a->disp, r[k].a, true};
    }
    return p;
}

/* -- The path ----------------------------------------------------------------------------------- */

/* The stack pointer behind the first n instructions has become known: back to where it was changed by more than a constant. */
static void fill_back(struct path *p, u32 n, struct point at)
{
    for (u32 i = n; i-- > 0 && !p->places[i].behind.known;) {
        p->places[i].behind = at;
        if (!p->places[i].constant)
            return;
        at.disp -= p->places[i].delta;
    }
}

/* Bytes that are no instruction, which only a forged table has, are one that does nothing. */
static void walk_path(struct path *p, struct point exit)
{
    const struct ref *r = &p->table->refs.v[p->unit->ref0];
    struct point at = {0, TERM_RSP, true};
    for (u32 i = 0; i < p->n; r += p->insns[i++].refs) {
        struct place *x = &p->places[i];
        struct insn in;
        *x = (struct place){.behind = at, .constant = true};
        if (!insn_decode(&in, p->insns[i].pc, p->table->code.v + p->insns[i].bytes,
                         p->insns[i].len))
            continue;
        x->class = in.class;
        x->constant = step_of(&in, &x->delta);
        if (!at.known) {
            at = point_from_refs(&in, r, p->insns[i].refs, RSP, p->slots);
            if (at.known)
                fill_back(p, i, at);
        }
        if (is_leave(&in)) {
            at = point_from_refs(&in, r, p->insns[i].refs, RBP, p->slots);
            x->delta = 8;
        }
        at.known &= x->constant || is_leave(&in);
        at.disp += x->delta;
        x->behind = at;
    }
    if (!at.known)
        fill_back(p, p->n, exit);
}

/* -- Steps -------------------------------------------------------------------------------------- */

/* What is written down of a path so far. */
struct writer {
    VEC(struct stack_step) steps;
    struct stack_counts counts; /* since the last step */
    bool plain;
};

static void count_insn(struct writer *w, const struct ref *r, u32 n)
{
    w->counts.insns++;
    for (u32 k = 0; k < n; k++) {
        w->plain &= r[k].op == REF_PLAIN;
        w->counts.reads += r[k].kind != REF_STORE;
        w->counts.writes += r[k].kind == REF_STORE;
    }
}

/* Does instruction i, which leads to `to`, make a step? */
static bool is_step(const struct path *p, u32 i, u64 to)
{
    switch (p->places[i].class) {
    case INSN_CALL:
    case INSN_CALL_IND:
    case INSN_JMP:
    case INSN_JMP_IND:
    case INSN_RET:
        return p->places[i].behind.known;
    case INSN_JCC: {
        u64 pc = p->insns[i].pc, distance = to > pc ? to - pc : pc - to;
        return p->places[i].behind.known && to && distance >= STACK_FAR;
    }
    default:
        return false;
    }
}

static void write_insn(struct writer *w, const struct path *p, u32 i, const struct ref *r)
{
    const struct place *x = &p->places[i];
    u64 to = i + 1 < p->n ? p->insns[i + 1].pc : p->to;
    count_insn(w, r, p->insns[i].refs);
    if (!is_step(p, i, to))
        return;
    vec_push(&w->steps,
             ((struct stack_step){.to = to,
                                  .disp = x->behind.disp,
                                  .counts = w->counts,
                                  .end = i + 1,
                                  .term = x->behind.term,
                                  .is_call = x->class == INSN_CALL || x->class == INSN_CALL_IND}));
    w->counts = (struct stack_counts){0};
}

/* Exits of a trace without references do not tell the stack pointer: then there are no steps. */
static struct stack_script *write_script(struct path *p, struct point exit)
{
    struct writer w = {.plain = true};
    const struct ref *r = &p->table->refs.v[p->unit->ref0];
    bool tells = exit.term != TERM_NONE || exit.disp;
    p->insns = &p->table->insns.v[p->unit->insn0];
    p->places = malloc(MAX(p->n, 1u) * sizeof *p->places);
    check(p->places != NULL);
    walk_path(p, exit);
    for (u32 i = 0; i < p->n; i++) {
        if (!tells)
            p->places[i].behind.known = false;
        write_insn(&w, p, i, r);
        r += p->insns[i].refs;
    }
    struct stack_script *s = malloc(sizeof *s + w.steps.n * sizeof s->step[0]);
    check(s != NULL);
    *s = (struct stack_script){.rest = w.counts, .plain = w.plain, .n = (u32)w.steps.n};
    for (u32 k = 0; k < s->n; k++)
        s->step[k] = w.steps.v[k];
    vec_fini(&w.steps);
    free(p->places);
    return s;
}

/* -- Scripts ------------------------------------------------------------------------------------ */

void stack_scripts_init(struct stack_scripts *s, const struct unit_table *t)
{
    *s = (struct stack_scripts){.table = t};
}

void stack_scripts_fini(struct stack_scripts *s)
{
    for (u32 i = 0; i < STACK_PAGES; i++) {
        for (u32 k = 0; s->pages[i] && k < STACK_PAGE_EXITS; k++)
            free(s->pages[i][k]);
        free(s->pages[i]);
    }
}

/* Let something be at *place; of several threads, the first one's stays. */
static void *publish(void *place, void *made)
{
    void *there = NULL;
    if (__atomic_compare_exchange_n((void **)place, &there, made, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return made;
    free(made);
    return there;
}

static struct stack_script *make_script(const struct unit_table *t, u32 exit)
{
    const struct unit_exit *x = &t->exits.v[exit];
    struct path p = {.table = t,
                     .unit = &t->units.v[x->unit],
                     .n = x->insns,
                     .slots = x->slots,
                     .to = x->target};
    return write_script(&p, (struct point){(u64)x->rsp_disp, x->rsp_term, true});
}

const struct stack_script *stack_script(struct stack_scripts *s, u32 exit)
{
    struct stack_script ***page = &s->pages[exit / STACK_PAGE_EXITS];
    struct stack_script **of = load_acquire(page);
    if (__builtin_expect(!of, 0)) {
        of = calloc(STACK_PAGE_EXITS, sizeof *of);
        check(of != NULL);
        of = publish(page, of);
    }
    struct stack_script **at = &of[exit % STACK_PAGE_EXITS], *x = load_acquire(at);
    return __builtin_expect(!x, 0) ? publish(at, make_script(s->table, exit)) : x;
}

struct stack_script *stack_script_partial(const struct unit_table *t, u32 unit, u32 insns, u8 slots)
{
    const struct unit *u = &t->units.v[unit];
    u64 to = insns < u->n_insns ? t->insns.v[u->insn0 + insns].pc : 0;
    struct path p = {.table = t, .unit = u, .n = insns, .slots = slots, .to = to};
    return write_script(&p, (struct point){0, slots, true});
}
