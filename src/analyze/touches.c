/* SPDX-License-Identifier: MIT */
/* From batches to touches. What an exit touches, but for the addresses, is written down once; then a record is a walk along that. */
#include "analyze/touches.h"
#include "base/err.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

enum { NO_LINE = -1 };

/* Lines of the same set are in the same place of the filter; without a power of two, all are. */
static void filter_init(struct touch_filter *f, struct touch_sets s)
{
    f->mask = s.sets & (s.sets - 1) ? 0 : MIN(s.sets, (u64)FILTER_LIMIT) - 1;
    f->log2 = (u32)__builtin_ctz(s.line);
}

void touches_init(struct touches *t, const struct unit_table *table, struct touch_sets code,
                  struct touch_sets data)
{
    *t = (struct touches){.table = table};
    filter_init(&t->code, code);
    filter_init(&t->data, data);
    touches_reset(t);
}

void touches_fini(struct touches *t)
{
    vec_fini(&t->list);
    vec_fini(&t->scripts);
    vec_fini(&t->steps);
    passes_fini(&t->passes);
    vec_fini(&t->refs);
}

void touches_reset(struct touches *t)
{
    memset(t->code.line, NO_LINE, (t->code.mask + 1) * sizeof t->code.line[0]);
    memset(t->data.line, NO_LINE, (t->data.mask + 1) * sizeof t->data.line[0]);
}

/* -- Counts ------------------------------------------------------------------------------------ */

void touches_counts(const struct touches *t, u64 *insns, u64 *refs)
{
    passes_insns(&t->passes, t->table, insns);
    passes_refs(&t->passes, t->table, refs);
    for (size_t j = 0; j < t->refs.n && j < t->table->refs.n; j++)
        refs[j] += t->refs.v[j];
}

/* -- Scripts ------------------------------------------------------------------------------------ */

static void script_insn(struct touches *t, u32 id, u64 *line)
{
    const struct unit_insn *in = &t->table->insns.v[id];
    u64 first = in->pc >> t->code.log2, last = (in->pc + in->len - 1) >> t->code.log2;
    if (first != *line || last != *line)
        vec_push(&t->steps, ((struct touch_step){in->pc, id | TOUCH_CODE, in->len}));
    *line = last;
}

static void write_script(struct touches *t, struct touch_script *s, const struct unit_exit *x)
{
    const struct unit *u = &t->table->units.v[x->unit];
    const struct ref *r = &t->table->refs.v[u->ref0];
    u64 line = (u64)NO_LINE;
    u32 j = 0;
    *s = (struct touch_script){.first = (u32)t->steps.n, .known = true, .plain = true};
    for (u32 i = 0; i < x->insns; i++) {
        script_insn(t, u->insn0 + i, &line);
        for (; j < x->refs && r[j].insn == i; j++) {
            s->plain &= ref_is_made_once(&r[j]);
            vec_push(&t->steps, ((struct touch_step){0, u->ref0 + j, r[j].size}));
        }
    }
    s->n = (u32)t->steps.n - s->first;
}

static const struct touch_script *script_of(struct touches *t, u32 exit)
{
    vec_reach(&t->scripts, exit);
    struct touch_script *s = &t->scripts.v[exit];
    if (!s->known)
        write_script(t, s, &t->table->exits.v[exit]);
    return s;
}

/* -- Records ------------------------------------------------------------------------------------ */

static bool touch_line(struct touch_filter *f, u64 line)
{
    u64 *latest = &f->line[line & f->mask];
    bool differs = *latest != line;
    *latest = line;
    return differs;
}

/* Each is written, and stays if it comes to another line: a branch would often be mispredicted. */
static inline struct touch *touch(struct touch *to, struct touch t, struct touch_filter *f)
{
    u64 line = t.address >> f->log2, last = (t.address + t.size - 1) >> f->log2;
    bool stays = touch_line(f, line);
    while (__builtin_expect(line < last, 0)) /* an address from a file may wrap around: then there is no other line */
        stays |= touch_line(f, ++line);
    *to = t;
    return to + stays;
}

/* A whole record of a plain exit, with the addresses of its references. */
static void run_script(struct touches *t, const struct touch_script *s, const u64 *address)
{
    const struct touch_step *step = t->steps.v + s->first, *end = step + s->n;
    struct touch *to = vec_grow(&t->list, s->n);
    for (; step < end; step++)
        if (step->pc)
            to = touch(to, (struct touch){step->pc, step->id, step->size}, &t->code);
        else
            to = touch(to, (struct touch){*address++, step->id, step->size}, &t->data);
    t->list.n = (size_t)(to - t->list.v);
}

static void touch_one(struct touches *t, struct touch x, struct touch_filter *f)
{
    struct touch *to = vec_grow(&t->list, 1);
    t->list.n = (size_t)(touch(to, x, f) - t->list.v);
}

static void touch_insns(struct touches *t, u32 id, u32 n)
{
    for (u32 i = id; i < id + n; i++) {
        const struct unit_insn *in = &t->table->insns.v[i];
        touch_one(t, (struct touch){in->pc, i | TOUCH_CODE, in->len}, &t->code);
    }
}

/* Any other: the references of record i, each behind the instructions up to its own; `shown` of these were seen to before. */
static void touch_record(struct touches *t, const struct batch *b, u32 i, const struct ran *r,
                        u32 shown, bool unfinished)
{
    const struct unit_table *x = t->table;
    const u32 insn0 = x->units.v[r->unit].insn0, n_insns = x->units.v[r->unit].n_insns;
    for (u32 j = b->first[i]; j < b->first[i + 1]; j++) {
        u32 id = b->ref[j], size = 0;
        if (id & BATCH_ODD) {
            size = b->odd[id & ~BATCH_ODD].size;
            id = b->odd[id & ~BATCH_ODD].ref;
        }
        const struct ref *s = &x->refs.v[id];
        if (s->insn >= n_insns) /* not this unit's: a live program has changed its partial record */
            break;
        if (s->insn >= shown)
            touch_insns(t, insn0 + shown, s->insn + 1u - shown);
        shown = MAX(shown, s->insn + 1u);
        if (!ref_is_made_once(s) || r->partial) {
            vec_reach(&t->refs, id);
            t->refs.v[id]++;
        }
        touch_one(t, (struct touch){b->addr[j], id, size ? size : s->size}, &t->data);
    }
    if (!unfinished && shown < r->insns)
        touch_insns(t, insn0 + shown, r->insns - shown);
}

/* Most records are whole, and of an exit whose script says it all. */
static bool add_plain(struct touches *t, const struct batch *b, u32 i)
{
    u32 id = b->exit[i];
    const struct touch_script *s = id >= FIRST_EXIT_ID ? script_of(t, id - FIRST_EXIT_ID) : NULL;
    if (!s || !s->plain)
        return false;
    run_script(t, s, b->addr + b->first[i]);
    vec_reach(&t->passes.exits, id - FIRST_EXIT_ID);
    t->passes.exits.v[id - FIRST_EXIT_ID]++;
    return true;
}

static void add_any(struct touches *t, const struct events *e, u32 i, bool continues,
                    bool unfinished)
{
    struct ran r;
    if (!events_ran(e, i, &r))
        return;
    touch_record(t, e->batch, i, &r, continues ? e->shown : 0, unfinished);
    if (!unfinished)
        passes_count(&t->passes, e, i, &r);
}

void touches_add(struct touches *t, const struct events *e)
{
    const struct batch *b = e->batch;
    for (u32 i = 0; i < b->n_records; i++) {
        bool begun = e->continues && i == 0, goes_on = e->unfinished && i + 1 == b->n_records;
        if (begun || goes_on || !add_plain(t, b, i))
            add_any(t, e, i, begun, goes_on);
    }
}
