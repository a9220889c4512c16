/* SPDX-License-Identifier: MIT */
/* Records become moves along the scripts of their exits. */
#include "analyze/moves.h"
#include "analyze/passes.h"
#include "wire/wire.h"

#include <stdlib.h>

void moves_init(struct moves *m, struct stack_scripts *s)
{
    *m = (struct moves){.scripts = s};
}

void moves_fini(struct moves *m)
{
    for (size_t i = 0; i < m->copies.n; i++)
        vec_fini(&m->copies.v[i].words);
    vec_fini(&m->copies);
    vec_fini(&m->list);
}

void moves_reset(struct moves *m)
{
    m->list.n = m->n_copies = 0;
    m->rest = (struct stack_counts){0};
    memset(m->rest_misses, 0, sizeof m->rest_misses);
    m->again = 0;
    m->begun = m->is_gap = false;
    m->open = 0;
    m->insns_done = m->steps_done = 0;
    m->n_slots = 0;
}

/* -- Moves -------------------------------------------------------------------------------------- */

static void put_move(struct moves *m, enum move_kind kind, u64 to, u64 rsp)
{
    vec_push(&m->list, ((struct move){.to = to, .rsp = rsp, .counts = m->rest, .kind = kind}));
    m->rest = (struct stack_counts){0};
}

static u64 top_slot(const struct moves *m)
{
    return m->slot[m->n_slots - 1];
}

static void begin(struct moves *m, u64 pc)
{
    if (m->begun)
        return;
    m->begun = true;
    m->pc = pc;
    m->rsp = m->now.rsp;
}

/* The thread is at this pc: that is where the last move led. */
static void arrive(struct moves *m, u64 pc)
{
    begin(m, pc);
    if (m->open)
        m->list.v[m->open - 1].to = pc;
    m->open = 0;
}

static void put_call(struct moves *m, u64 to, u64 rsp)
{
    put_move(m, MOVE_call, to, rsp);
    while (m->n_slots && top_slot(m) <= rsp && rsp - top_slot(m) < STACK_NEAR)
        m->n_slots--;
    if (m->n_slots && top_slot(m) - rsp >= STACK_NEAR)
        m->n_slots = 0;
    if (m->n_slots == MOVE_SLOTS) {
        m->n_slots /= 2;
        memcpy(m->slot, m->slot + MOVE_SLOTS / 2, MOVE_SLOTS / 2 * sizeof m->slot[0]);
    }
    m->slot[m->n_slots++] = rsp;
    m->open = to ? 0 : m->list.n;
}

static void put_jump(struct moves *m, u64 to, u64 rsp)
{
    if (m->n_slots && rsp < top_slot(m) && top_slot(m) - rsp < STACK_NEAR)
        return;
    put_move(m, MOVE_jump, to, rsp);
    if (m->n_slots && rsp - top_slot(m) >= STACK_NEAR)
        m->n_slots = 0;
    while (m->n_slots && top_slot(m) < rsp)
        m->n_slots--;
    m->open = to ? 0 : m->list.n;
}

static void take_step(struct moves *m, const struct stack_step *s, const u8 *slots)
{
    u64 rsp = carried_term(&m->now, slots, s->term) + s->disp;
    if (s->is_call)
        put_call(m, s->to, rsp);
    else
        put_jump(m, s->to, rsp);
}

/* -- Records that ran --------------------------------------------------------------------------- */

static void count(struct moves *m, const struct stack_counts *n)
{
    m->rest.insns += n->insns;
    m->rest.reads += n->reads;
    m->rest.writes += n->writes;
}

/* A whole record of which each reference is made once. */
static void run_plain(struct moves *m, const struct stack_script *s, const u8 *slots)
{
    for (u32 k = 0; k < s->n; k++) {
        count(m, &s->step[k].counts);
        take_step(m, &s->step[k], slots);
    }
    count(m, &s->rest);
}

/* Up to this instruction of the unit. */
static void run_up_to(struct moves *m, const struct stack_script *s, const u8 *slots, u32 insn)
{
    for (; m->steps_done < s->n && s->step[m->steps_done].end <= insn; m->steps_done++) {
        m->rest.insns += s->step[m->steps_done].end - m->insns_done;
        m->insns_done = s->step[m->steps_done].end;
        take_step(m, &s->step[m->steps_done], slots);
    }
}

static void run_refs(struct moves *m, const struct stack_script *s, const struct batch *b, u32 i,
                     const u8 *slots, u32 n_insns)
{
    for (u32 j = b->first[i]; j < b->first[i + 1]; j++) {
        u32 id = b->ref[j] & BATCH_ODD ? b->odd[b->ref[j] & ~BATCH_ODD].ref : b->ref[j];
        const struct ref *r = &m->scripts->table->refs.v[id];
        /* Else it is not this unit's: a live program has changed its partial record. */
        if (r->insn < n_insns)
            run_up_to(m, s, slots, r->insn);
        m->rest.reads += r->kind != REF_STORE;
        m->rest.writes += r->kind == REF_STORE;
    }
}

/* A record that earlier batches have begun goes on: the last instruction that they have shown is not over yet. */
static void go_on(struct moves *m, const struct stack_script *s, const struct events *e, u32 unit,
                  const u8 *slots)
{
    const struct unit *u = &e->table->units.v[unit];
    const u32 insn = e->shown && e->shown <= u->n_insns ? e->shown - 1 : 0;
    u64 rsp = m->now.rsp;
    m->insns_done = m->steps_done = 0;
    for (; m->steps_done < s->n && s->step[m->steps_done].end <= insn; m->steps_done++) {
        const struct stack_step *step = &s->step[m->steps_done];
        m->insns_done = step->end;
        rsp = carried_term(&m->now, slots, step->term) + step->disp;
    }
    if (!m->begun) {
        begin(m, e->table->insns.v[u->insn0 + insn].pc);
        m->rsp = rsp;
        m->again = e->shown - m->insns_done;
    }
}

/* Any other record, or the part of it that this batch has. */
static void run_any(struct moves *m, const struct stack_script *s, const struct events *e, u32 i,
                    u32 unit, const u8 *slots, u32 insns)
{
    if (e->continues && !i)
        go_on(m, s, e, unit, slots);
    run_refs(m, s, e->batch, i, slots, insns);
    if (e->unfinished && i + 1 == e->batch->n_records)
        return;
    run_up_to(m, s, slots, insns);
    m->rest.insns += insns - m->insns_done;
    m->insns_done = m->steps_done = 0;
}

static void add_exit(struct moves *m, const struct events *e, u32 i, const u8 *slots)
{
    const u32 exit = e->batch->exit[i] - FIRST_EXIT_ID;
    const struct unit_exit *x = &e->table->exits.v[exit];
    const struct stack_script *s = stack_script(m->scripts, exit);
    bool begun = e->continues && !i, goes_on = e->unfinished && i + 1 == e->batch->n_records;
    if (!begun)
        arrive(m, e->table->units.v[x->unit].pc);
    if (s->plain && !begun && !goes_on)
        run_plain(m, s, slots);
    else
        run_any(m, s, e, i, x->unit, slots, x->insns);
    if (!goes_on)
        m->now.rsp = carried_rsp(&m->now, x, slots);
}

/* The unit's slots stand between the first, which says what ran, and the stack pointer. */
static void add_partial(struct moves *m, const struct events *e, u32 i, const u8 *slots)
{
    const struct batch *b = e->batch;
    struct ran r;
    u32 n = (b->record_at[i + 1] - b->record_at[i] - RECORD_SLOTS_AT) / 8 - PARTIAL_EXTRA_SLOTS;
    if (n >= TERM_SLOT_LIMIT || !events_ran(e, i, &r))
        return;
    struct stack_script *s = stack_script_partial(e->table, r.unit, r.insns, (u8)n);
    if (!e->continues || i)
        arrive(m, e->table->units.v[r.unit].pc);
    run_any(m, s, e, i, r.unit, slots + 8, r.insns);
    free(s);
    if (!e->unfinished || i + 1 < b->n_records)
        m->now.rsp = carried_term(&m->now, slots + 8, (u8)n);
}

/* -- Others ------------------------------------------------------------------------------------- */

static u64 slot_of(const u8 *slots, u32 i)
{
    return carried_term(NULL, slots, (u8)i);
}

/* Where the last move led is not known. A return into what was not to be recorded is one all the same. */
static void lose(struct moves *m, bool is_gap)
{
    struct move *x = m->open ? &m->list.v[m->open - 1] : NULL;
    if (!m->begun)
        m->is_gap = is_gap;
    begin(m, 0);
    if (x && !(is_gap && x->kind == MOVE_jump))
        x->kind = MOVE_leap;
    m->open = 0;
}

/* What is known of frames no longer holds. */
static void put_break(struct moves *m, enum move_kind kind, u64 to)
{
    put_move(m, kind, to, m->now.rsp);
    m->n_slots = 0;
}

/* It goes on in the next record, if there is more of it. */
static void add_stack(struct moves *m, const u8 *slots)
{
    enum { WORDS_AT = 3 };
    u64 n = MIN(slot_of(slots, 0), (u64)RECORD_stack_words);
    bool goes_on = m->list.n && m->list.v[m->list.n - 1].kind == MOVE_stack;
    if (!goes_on) {
        if (m->n_copies == m->copies.n)
            vec_push(&m->copies, ((struct stack_copy){0}));
        struct stack_copy *s = &m->copies.v[m->n_copies];
        s->pc = slot_of(slots, 1);
        s->rsp = m->now.rsp;
        s->rbp = slot_of(slots, 2);
        s->words.n = 0;
        put_move(m, MOVE_stack, m->n_copies++, m->now.rsp);
    }
    for (u32 i = 0; i < n; i++)
        vec_push(&m->copies.v[m->n_copies - 1].words,
                 ((struct stack_word){slot_of(slots, WORDS_AT + 2 * i), slot_of(slots, WORDS_AT + 2 * i + 1)}));
}

static void add_guest(struct moves *m, u32 id, const u8 *slots)
{
    switch (id) {
    case RECORD_state:
        m->now.rsp = slot_of(slots, 0);
        put_move(m, MOVE_state, 0, m->now.rsp);
        return;
    case RECORD_signal:
        arrive(m, slot_of(slots, 2));
        put_break(m, MOVE_signal, slot_of(slots, 1));
        m->list.v[m->list.n - 1].signal = (u8)slot_of(slots, 0);
        return;
    case RECORD_sigreturn:
        put_break(m, MOVE_leap, 0);
        return;
    case RECORD_stepped:
        arrive(m, slot_of(slots, 0));
        put_break(m, MOVE_leap, 0);
        return;
    case RECORD_lost:
        lose(m, false);
        put_break(m, MOVE_leap, 0);
        return;
    case RECORD_resumed:
    case RECORD_entered:
        m->now.rsp = slot_of(slots, 0);
        lose(m, true);
        put_break(m, MOVE_leap, 0);
        put_move(m, MOVE_state, 0, m->now.rsp);
        if (id == RECORD_entered)
            put_call(m, 0, m->now.rsp);
        return;
    case RECORD_stack:
        add_stack(m, slots);
        return;
    default:
        return;
    }
}

void moves_add(struct moves *m, const struct events *e)
{
    const struct batch *b = e->batch;
    m->now = b->carried;
    for (u32 i = 0; i < b->n_records; i++) {
        const u8 *slots = e->records + b->record_at[i] + RECORD_SLOTS_AT;
        if (b->exit[i] >= FIRST_EXIT_ID)
            add_exit(m, e, i, slots);
        else if (b->exit[i] == RECORD_partial)
            add_partial(m, e, i, slots);
        else
            add_guest(m, b->exit[i], slots);
    }
}
