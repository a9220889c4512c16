/* SPDX-License-Identifier: MIT */
/* Watched instructions: before these a unit stores registers that no address needs, so that a trace tells what a function was given and what
 * it returned. The host names heads of functions; the returns by which they may end are looked for here, through direct jumps, so that a
 * function that ends in another is not missed. */
#include "translate/state.h"

#include <stdlib.h>

enum { WALK_INSNS = 1 << 14 };

u32 watch_slots(u8 kind)
{
    static const u8 arguments[WATCH_LIMIT] = {
#define WATCH(name, number, arguments, what) [number] = arguments,
#include "translate/watches.def"
#undef WATCH
    };
    return kind >= WATCH_LIMIT ? 0 : kind ? 2u + arguments[kind] : 0;
}

/* -- Where ------------------------------------------------------------------------------------- */

static int by_pc(const void *a, const void *b)
{
    const struct watched *x = a, *y = b;
    return x->pc != y->pc ? (x->pc < y->pc ? -1 : 1) : (x->kind > y->kind) - (x->kind < y->kind);
}

/* The code of one function, as far as jumps in it tell. */
struct walk {
    struct translator *t;
    enum watch kind;
    VEC(u64) seen, left; /* left: where it goes on */
};

static bool is_new(struct walk *w, u64 pc)
{
    for (size_t i = w->seen.n; i-- > 0;)
        if (w->seen.v[i] == pc)
            return false;
    vec_push(&w->seen, pc);
    return true;
}

static void found(struct translator *t, u64 pc, enum watch kind)
{
    vec_push(&t->watched, ((struct watched){pc, kind}));
}

/* What the walk comes by, and where else it goes. */
static void note(struct walk *w, const struct insn *in)
{
    if (in->class == INSN_RET)
        found(w->t, in->pc, WATCH_result);
    if (w->kind == WATCH_calloc && in->class == INSN_JMP_IND)
        found(w->t, in->pc, WATCH_leave);
    if (w->kind == WATCH_posix_memalign && (in->class == INSN_CALL || in->class == INSN_CALL_IND))
        found(w->t, in->pc + in->len, WATCH_inner);
    if (in->class == INSN_JMP || in->class == INSN_JCC || in->class == INSN_JCX)
        vec_push(&w->left, in->target);
}

static bool goes_on(const struct insn *in)
{
    return in->class != INSN_REFUSED && in->class != INSN_TRAP && in->class != INSN_JMP_IND &&
           in->class != INSN_RET && in->class != INSN_JMP;
}

/* From pc to the next jump, or to a place where somebody has been; how far. */
static u32 walk_on(struct walk *w, u64 pc)
{
    for (u32 n = 1; n < WALK_INSNS; n++) {
        const struct insn *in = path_decode(w->t, pc);
        if (!in)
            return n;
        note(w, in);
        pc += in->len;
        if (!goes_on(in) || (in->class != INSN_PLAIN && !is_new(w, pc)))
            return n;
    }
    return WALK_INSNS;
}

static void walk(struct translator *t, const struct watched *head)
{
    struct walk w = {.t = t, .kind = head->kind};
    u32 n = 0;
    vec_push(&w.left, head->pc);
    while (w.left.n && n < WALK_INSNS) {
        u64 pc = w.left.v[--w.left.n];
        if (is_new(&w, pc))
            n += walk_on(&w, pc);
    }
    vec_fini(&w.seen);
    vec_fini(&w.left);
}

void translate_watch(struct translator *t, const struct watched *heads, size_t n)
{
    t->watched.n = 0;
    for (size_t i = 0; i < n; i++) {
        found(t, heads[i].pc, heads[i].kind);
        if (heads[i].kind != WATCH_free && heads[i].kind != WATCH_munmap)
            walk(t, &heads[i]);
    }
    if (t->watched.n)
        qsort(t->watched.v, t->watched.n, sizeof *t->watched.v, by_pc);
}

/* A head matters more than what stands behind another's call. */
u8 watch_at(const struct builder *b, u32 i)
{
    const struct translator *t = b->t;
    const u64 pc = b->insn[i].pc;
    size_t low = 0, high = t->watched.n;
    if (!exit_tells_memory(b))
        return WATCH_nothing;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (t->watched.v[middle].pc <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low && t->watched.v[low - 1].pc == pc ? t->watched.v[low - 1].kind : WATCH_nothing;
}

/* -- What -------------------------------------------------------------------------------------- */

static void store(struct builder *b, u8 reg)
{
    emit_store(b->e, reg, b->pointer, RECORD_SLOTS_AT + 8 * (s32)b->n_slots++);
}

/* It is on top of the stack. */
static bool store_return(struct builder *b, u32 i)
{
    struct loan loan = {.n = 0};
    u8 reg = loan_take(b, &b->insn[i], &loan, false);
    if (reg == REG_NONE)
        return plain_refuse(b, &b->insn[i]);
    emit_load(b->e, reg, RSP, 0);
    store(b, reg);
    loan_return(b, &loan);
    return true;
}

bool watch_emit(struct builder *b, u32 i)
{
    static const u8 arguments[] = {RDI, RSI, RDX};
    const u8 kind = watch_at(b, i);
    b->insn_watch[i] = kind;
    b->insn_slot[i] = kind ? (u8)b->n_slots : 0;
    if (!kind)
        return true;
    const u32 n = watch_slots(kind) - 2;
    for (u32 k = 0; k < n; k++)
        store(b, arguments[k]);
    if (!n)
        store(b, RAX);
    store(b, RSP);
    if (n && !store_return(b, i))
        return false;
    mark(b, i, 0); /* nothing is on loan any more */
    return true;
}
