/* SPDX-License-Identifier: MIT */
/* One batch after the other; nothing is remembered in between. */
#include "tool/view.h"
#include "analyze/passes.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

/* How many slots each of the guest's records has, 0 if there is none of this number. What was decoded has been checked to have
 * them; what a live program writes into its header later says nothing. */
static const u8 slots_of[FIRST_EXIT_ID] = {
#define RECORD(name, id, slots, what) [id] = slots,
#include "wire/records.def"
#undef RECORD
};

static const u8 mark_kinds[FIRST_EXIT_ID] = {
    [RECORD_syscall] = GAIT_MARK_SYSCALL,     [RECORD_signal] = GAIT_MARK_SIGNAL,
    [RECORD_sigreturn] = GAIT_MARK_SIGRETURN, [RECORD_state] = GAIT_MARK_STATE,
    [RECORD_stepped] = GAIT_MARK_STEPPED,     [RECORD_native] = GAIT_MARK_NATIVE,
    [RECORD_lost] = GAIT_MARK_LOST,           [RECORD_resumed] = GAIT_MARK_RESUMED,
    [RECORD_entered] = GAIT_MARK_ENTERED,     [RECORD_paused] = GAIT_MARK_PAUSED,
    [RECORD_mark] = GAIT_MARK_MARK,
};

static void add_mark(struct view *v, const struct events *e, u32 i)
{
    const u8 *record = e->records + e->batch->record_at[i];
    const u32 id = e->batch->exit[i];
    struct gait_mark m = {.kind = mark_kinds[id], .run = (u32)v->runs.n};
    check(slots_of[id] <= ARRAY_LEN(m.value));
    memcpy(m.value, record + RECORD_SLOTS_AT, slots_of[id] * sizeof m.value[0]);
    vec_push(&v->marks, m);
}

/* The accesses of record i, which ran instructions of this unit. */
static void add_accesses(struct view *v, const struct events *e, u32 i, const struct unit *u)
{
    const struct batch *b = e->batch;
    const struct ref *refs = e->table->refs.v;
    struct gait_access *first = vec_grow(&v->accesses, b->first[i + 1] - b->first[i]), *to = first;
    for (u32 j = b->first[i]; j < b->first[i + 1]; j++) {
        u32 id = b->ref[j], size = 0;
        if (__builtin_expect(id & BATCH_ODD, 0)) {
            size = b->odd[id & ~BATCH_ODD].size;
            id = b->odd[id & ~BATCH_ODD].ref;
        }
        const struct ref *r = &refs[id];
        if (r->insn >=
            u->n_insns) /* not this unit's: a live program has changed its partial record */
            break;
        *to++ = (struct gait_access){.address = b->addr[j],
                                     .insn = u->insn0 + r->insn,
                                     .bytes = (u16)(size ? size : r->size),
                                     .kind = r->kind};
    }
    v->accesses.n = (size_t)(to - v->accesses.v);
}

static void add_run(struct view *v, const struct events *e, u32 i, const struct ran *r)
{
    const struct batch *b = e->batch;
    const struct unit *u = &e->table->units.v[r->unit];
    bool begun = e->continues && i == 0, goes_on = e->unfinished && i + 1 == b->n_records;
    /* A live program may change its partial record: then these are another unit's. */
    u32 to = goes_on ? MIN(events_shown(e), r->insns) : r->insns;
    u32 from = begun ? MIN(e->shown, to) : 0;
    struct gait_run run = {
        .insn = u->insn0 + from, .n_insns = to - from, .access = (u32)v->accesses.n};
    add_accesses(v, e, i, u);
    run.n_accesses = (u32)v->accesses.n - run.access;
    vec_push(&v->runs, run);
}

void view_add(struct view *v, const struct events *e)
{
    struct ran r;
    for (u32 i = 0; i < e->batch->n_records; i++)
        if (events_ran(e, i, &r))
            add_run(v, e, i, &r);
        else if (e->batch->exit[i] != RECORD_partial && e->batch->exit[i] != RECORD_stack)
            add_mark(v, e, i);
}

void view_clear(struct view *v)
{
    v->runs.n = v->accesses.n = v->marks.n = 0;
}

void view_fini(struct view *v)
{
    vec_fini(&v->runs);
    vec_fini(&v->accesses);
    vec_fini(&v->marks);
}

/* -- The mirror --------------------------------------------------------------------------------- */

void mirror_init(struct mirror *m, void *room)
{
    *m = (struct mirror){.insns = room};
    m->code = (u8 *)room + MIRROR_INSNS * sizeof *m->insns;
}

/* The number of units is stored last, so all of these are whole. */
static u32 whole_insns(const struct unit_table *t)
{
    size_t n = load_acquire(&t->units.n);
    const struct unit *last = n ? &t->units.v[n - 1] : NULL;
    return last ? last->insn0 + last->n_insns : 0;
}

bool mirror_update(struct mirror *m, const struct unit_table *t)
{
    u32 n = whole_insns(t);
    if (n > MIRROR_INSNS)
        return false;
    for (; m->n_insns < n; m->n_insns++) {
        const struct unit_insn *in = &t->insns.v[m->n_insns];
        if (m->n_code + in->len > MIRROR_CODE)
            return false;
        memcpy(m->code + m->n_code, t->code.v + in->bytes, in->len);
        m->insns[m->n_insns] =
            (struct gait_insn){.pc = in->pc, .bytes = m->n_code, .length = in->len};
        m->n_code += in->len;
    }
    return true;
}
