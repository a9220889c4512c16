/* SPDX-License-Identifier: MIT */
/* From batches to touches. What an exit touches, but for the addresses, is written down once; then a record is a walk along that. */
#include "analyze/touches.h"
#include "base/err.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

enum { NO_LINE = -1 };

/* Lines of the same set are in the same place of the filter; without a power of two, all are. */
static void filter_init(struct touch_filter *f, struct touch_rule r)
{
    f->places.mask = r.sets & (r.sets - 1) ? 0 : MIN(r.sets, (u64)FILTER_LIMIT) - 1;
    f->places.log2 = (u32)__builtin_ctz(r.line);
    f->every[0] = r.every;
    f->every[1] = r.every || r.every_write;
    f->writes = r.writes;
    f->kind = f->every[1] ? FILTER_any : r.writes ? FILTER_writes : FILTER_lines;
}

void touch_filter_forget(struct touch_filter *f)
{
    memset(f->line, NO_LINE, (f->places.mask + 1) * sizeof f->line[0]);
}

void touch_maker_init(struct touch_maker *m, const struct unit_table *table, struct touch_rule code, struct touch_rule data)
{
    *m = (struct touch_maker){.table = table};
    code.writes = code.every_write = false;
    filter_init(&m->code, code);
    filter_init(&m->own, code);
    filter_init(&m->data, data);
    m->keeps_four = data.keeps_four;
    m->has_vectors = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2");
    if (m->code.kind == FILTER_any) /* as run_script has it */
        m->data.kind = FILTER_any;
}

void touch_maker_fini(struct touch_maker *m)
{
    vec_fini(&m->scripts);
    vec_fini(&m->steps);
    vec_fini(&m->codes);
    vec_fini(&m->code_lines);
    vec_fini(&m->sizes);
    passes_fini(&m->passes);
    vec_fini(&m->refs);
}

void touch_maker_counts(struct touch_maker *m, u64 *insns, u64 *refs)
{
    if (m->scripts.n || m->codes.n)
        vec_reach(&m->passes.exits, MAX(m->scripts.n, m->codes.n) - 1);
    for (size_t k = 0; k < m->codes.n; k++) {
        m->passes.exits.v[k] += m->codes.v[k].passed;
        m->codes.v[k].passed = 0;
    }
    for (size_t k = 0; k < m->scripts.n; k++) {
        m->passes.exits.v[k] += m->scripts.v[k].passed;
        m->scripts.v[k].passed = 0;
    }
    passes_insns(&m->passes, m->table, insns);
    passes_refs(&m->passes, m->table, refs);
    for (size_t j = 0; j < m->refs.n && j < m->table->refs.n; j++)
        refs[j] += m->refs.v[j];
}

void touches_init(struct touches *t, u32 parts, u32 block)
{
    *t = (struct touches){.parts = parts, .block_log2 = (u32)__builtin_ctz(block)};
    t->part = zeros(parts, sizeof *t->part);
}

static void fini_part(struct touch_part *p)
{
    vec_fini(&p->list.v);
    vec_fini(&p->of[TOUCH_OF_CODE].v);
    vec_fini(&p->of[TOUCH_OF_DATA].v);
}

void touches_fini(struct touches *t)
{
    for (u32 i = 0; i < t->parts; i++)
        fini_part(&t->part[i]);
    free(t->part);
    vec_fini(&t->crossings);
    vec_fini(&t->list);
    vec_fini(&t->lines[TOUCH_OF_CODE].v);
    vec_fini(&t->lines[TOUCH_OF_DATA].v);
    vec_fini(&t->times);
}

void touches_open(struct touches *t, struct touch_maker *m)
{
    touch_filter_forget(&m->code);
    touch_filter_forget(&m->data);
    t->maker = m;
    t->list.n = t->crossings.n = t->times.n = 0;
    t->clock = 0;
    t->refs = 0;
    t->lines[TOUCH_OF_CODE].v.n = t->lines[TOUCH_OF_DATA].v.n = 0;
    for (u32 i = 0; i < t->parts; i++)
        t->part[i].list.v.n = t->part[i].of[TOUCH_OF_CODE].v.n = t->part[i].of[TOUCH_OF_DATA].v.n = 0;
}

/* -- Scripts ------------------------------------------------------------------------------------ */

#define INLINE static inline __attribute__((always_inline))

/* Whether a touch of the line stays. */
INLINE bool touch_line(struct touch_filter *f, u64 mask, u64 line, u32 writes, enum filter_kind kind)
{
    u64 *latest = &f->line[line & mask];
    return kind == FILTER_lines ? touch_is_new(latest, line) : touch_is_new_or_written(latest, line | (writes ? TOUCH_WRITTEN : 0), kind == FILTER_any && f->every[writes]);
}

/* Of code, a record's touches are known, but for what was the latest line of each set before it: so those that the record itself makes needless are left out here. */
static void script_insn(struct touch_maker *m, u32 id)
{
    struct touch_filter *f = &m->own;
    const struct unit_insn *in = &m->table->insns.v[id];
    u64 line = in->pc >> f->places.log2, last = (in->pc + in->len - 1) >> f->places.log2;
    bool stays = touch_line(f, f->places.mask, line, 0, FILTER_lines);
    while (line < last)
        stays |= touch_line(f, f->places.mask, ++line, 0, FILTER_lines);
    if (stays || f->every[0])
        vec_push(&m->steps, ((struct touch_step){in->pc, id | TOUCH_CODE, in->len}));
}

/* The size of a reference, and what it does. */
static u32 flagged(const struct touch_maker *m, const struct ref *r, u32 size)
{
    if (!m->data.writes || r->kind == REF_LOAD)
        return size;
    return size | TOUCH_WRITE | (r->kind == REF_STORE ? TOUCH_STORE : 0);
}

static void write_script(struct touch_maker *m, struct touch_script *s, const struct unit_exit *x)
{
    const struct unit *u = &m->table->units.v[x->unit];
    const struct ref *r = &m->table->refs.v[u->ref0];
    u32 j = 0;
    touch_filter_forget(&m->own);
    *s = (struct touch_script){.first = (u32)m->steps.n, .known = true, .plain = true};
    for (u32 i = 0; i < x->insns; i++) {
        script_insn(m, u->insn0 + i);
        for (; j < x->refs && r[j].insn == i; j++) {
            s->plain &= ref_is_made_once(&r[j]);
            vec_push(&m->steps,
                     ((struct touch_step){0, u->ref0 + j, flagged(m, &r[j], r[j].size)}));
        }
    }
    s->n = (u32)m->steps.n - s->first;
}

static struct touch_script *script_of(struct touch_maker *m, u32 exit)
{
    vec_reach(&m->scripts, exit);
    struct touch_script *s = &m->scripts.v[exit];
    if (!s->known)
        write_script(m, s, &m->table->exits.v[exit]);
    return s;
}

/* -- Records ------------------------------------------------------------------------------------ */

/* Each is written, and stays if it comes to another line: a branch would often be mispredicted. The filter's places are a copy,
 * which no store changes, as the compiler can see. */
INLINE struct touch *touch(struct touch *to, struct touch t, struct touch_filter *f, struct touch_places p,
                           enum filter_kind kind)
{
    const u32 size = kind == FILTER_lines ? t.size : t.size & TOUCH_SIZE;
    const u32 writes = kind == FILTER_lines ? 0 : t.size / TOUCH_WRITE;
    u64 line = t.address >> p.log2, last = (t.address + size - 1) >> p.log2;
    bool stays = touch_line(f, p.mask, line, writes, kind);
    while (__builtin_expect(
        line < last, 0)) /* an address from a file may wrap around: then there is no other line */
        stays |= touch_line(f, p.mask, ++line, writes, kind);
    *to = t;
    return to + stays;
}

/* A whole record of a plain exit, with the addresses of its references. */
INLINE void run_script_as(struct touches *t, const struct touch_script *s, const u64 *address,
                          enum filter_kind code, enum filter_kind data)
{
    struct touch_maker *m = t->maker;
    const struct touch_places c = m->code.places, d = m->data.places;
    const struct touch_step *step = m->steps.v + s->first, *end = step + s->n;
    struct touch *to = vec_grow(&t->list, s->n);
    for (; step < end; step++)
        if (step->pc)
            to = touch(to, (struct touch){{step->pc}, step->id, {step->size}}, &m->code, c, code);
        else
            to = touch(to, (struct touch){{*address++}, step->id, {step->size}}, &m->data, d, data);
    t->list.n = (size_t)(to - t->list.v);
}

static void run_script(struct touches *t, const struct touch_script *s, const u64 *address)
{
    const struct touch_filter *c = &t->maker->code, *d = &t->maker->data;
    if (c->kind == FILTER_lines && d->kind == FILTER_lines)
        run_script_as(t, s, address, FILTER_lines, FILTER_lines);
    else if (c->kind == FILTER_lines && d->kind == FILTER_writes)
        run_script_as(t, s, address, FILTER_lines, FILTER_writes);
    else if (c->kind == FILTER_lines)
        run_script_as(t, s, address, FILTER_lines, FILTER_any);
    else
        run_script_as(t, s, address, FILTER_any, FILTER_any);
}

static inline void touch_one(struct touches *t, struct touch x, struct touch_filter *f, u64 when)
{
    struct touch *to = vec_grow(&t->list, 1), *end;
    if (f->kind == FILTER_lines)
        end = touch(to, x, f, f->places, FILTER_lines);
    else if (f->kind == FILTER_writes)
        end = touch(to, x, f, f->places, FILTER_writes);
    else
        end = touch(to, x, f, f->places, FILTER_any);
    t->list.n = (size_t)(end - t->list.v);
    if (t->maker->timed && end > to)
        vec_push(&t->times, when);
}

/* The same as run_script(), and when. */
static void run_script_timed(struct touches *t, const struct touch_script *s, const u64 *address, const struct unit_exit *x)
{
    struct touch_maker *m = t->maker;
    const u32 insn0 = m->table->units.v[x->unit].insn0;
    for (u32 k = s->first; k < s->first + s->n; k++) {
        const struct touch_step *step = &m->steps.v[k];
        const u32 insn = step->pc ? (step->id & ~TOUCH_CODE) - insn0 : m->table->refs.v[step->id].insn;
        touch_one(t, (struct touch){{step->pc ? step->pc : *address++}, step->id, {step->size}}, step->pc ? &m->code : &m->data, t->clock + insn + 1);
    }
    t->clock += x->insns;
}

static void touch_insns(struct touches *t, u32 id, u32 n)
{
    for (u32 i = id; i < id + n; i++) {
        const struct unit_insn *in = &t->maker->table->insns.v[i];
        touch_one(t, (struct touch){{in->pc}, i | TOUCH_CODE, {in->len}}, &t->maker->code, ++t->clock);
    }
}

/* Any other: the references of record i, each behind the instructions up to its own; `shown` of these were seen to before. */
static void touch_record(struct touches *t, const struct batch *b, u32 i, const struct ran *r,
                        u32 shown, bool unfinished)
{
    struct touch_maker *m = t->maker;
    const struct unit_table *x = m->table;
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
            vec_reach(&m->refs, id);
            m->refs.v[id]++;
        }
        touch_one(t, (struct touch){{b->addr[j]}, id, {flagged(m, s, size ? size : s->size)}},
                  &m->data, t->clock);
    }
    if (!unfinished && shown < r->insns)
        touch_insns(t, insn0 + shown, r->insns - shown);
}

/* Most records are whole, and of an exit whose script says it all. */
static bool add_plain(struct touches *t, const struct batch *b, u32 i)
{
    struct touch_maker *m = t->maker;
    u32 id = b->exit[i];
    struct touch_script *s = id >= FIRST_EXIT_ID ? script_of(m, id - FIRST_EXIT_ID) : NULL;
    if (!s || !s->plain)
        return false;
    if (m->timed)
        run_script_timed(t, s, b->addr + b->first[i], &m->table->exits.v[id - FIRST_EXIT_ID]);
    else
        run_script(t, s, b->addr + b->first[i]);
    s->passed++;
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
        passes_count(&t->maker->passes, e, i, &r);
}

/* -- Parts -------------------------------------------------------------------------------------- */

u32 touch_part(const struct touches *t, u64 address)
{
    const u64 block = address >> t->block_log2;
    return (u32)(t->parts & (t->parts - 1) ? block % t->parts : block & (t->parts - 1));
}

static struct touch_list *part_of(struct touches *t, u64 address)
{
    return &t->part[touch_part(t, address)].list;
}

/* Its blocks are of several parts: each gets a piece. */
static void cross(struct touches *t, const struct touch *x)
{
    const u64 end = (x->address & ADDRESS_MASK) + (x->size & TOUCH_SIZE);
    const u32 number = (u32)t->crossings.n;
    vec_push(&t->crossings, ((struct crossing){.id = x->id}));
    for (u64 at = x->address & ADDRESS_MASK; at < end;) {
        u64 block = at >> t->block_log2, next = MIN((block + 1) << t->block_log2, end);
        struct touch piece = {{at}, number | (x->id & TOUCH_CODE),
                              {(u32)(next - at) | (x->size & ~TOUCH_SIZE) | TOUCH_CROSSING}};
        vec_push(&part_of(t, at)->v, piece);
        at = next;
    }
}

/* Move the list to the parts. */
static void deal(struct touches *t)
{
    for (size_t i = 0; i < t->list.n; i++) {
        const struct touch *x = &t->list.v[i];
        u64 at = x->address & ADDRESS_MASK, block = at >> t->block_log2;
        if (block == (at + (x->size & TOUCH_SIZE) - 1) >> t->block_log2)
            vec_push(&part_of(t, at)->v, *x);
        else
            cross(t, x);
    }
    t->list.n = 0;
}

const struct touch *touches_of(const struct touches *t, u32 part, size_t *n)
{
    const struct touch_list *list = &t->part[part].list;
    *n = t->parts == 1 ? t->list.n : list->v.n;
    return t->parts == 1 ? t->list.v : list->v.v;
}

const struct touch_list *touches_of_lines(const struct touches *t, u32 part, enum touch_side side)
{
    return t->parts == 1 ? &t->lines[side] : &t->part[part].of[side];
}

static void add(struct touches *t, const struct events *e)
{
    const struct batch *b = e->batch;
    for (u32 i = 0; i < b->n_records; i++) {
        bool begun = e->continues && i == 0, goes_on = e->unfinished && i + 1 == b->n_records;
        if (begun || goes_on || !add_plain(t, b, i))
            add_any(t, e, i, begun, goes_on);
    }
}

void touches_add(struct touches *t, const struct events *e)
{
    const bool by_line = t->maker->by_line;
    (by_line ? touch_lines_add : add)(t, e);
    if (t->parts > 1)
        (by_line ? touch_lines_deal : deal)(t);
}
