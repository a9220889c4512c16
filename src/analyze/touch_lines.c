/* SPDX-License-Identifier: MIT */
/* From batches to touches of lines.
 *
 * Data and code are looked at apart, so that neither waits for a branch that nobody can foretell: all references of a batch one after the other, wherever its
 * records begin, and of each record the lines of its code, which are written down once for each exit. */
#include "analyze/touches.h"
#include "wire/wire.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    SIZE_MOST = 256 /* of a reference: so much or more */
};

/* Where events are in a work: a reference has an odd number, and code that runs before it an even one. */
static u32 at_ref(const struct touches *t, u32 j)
{
    return 2 * (t->refs + j) + 1;
}

static u32 at_code(const struct touches *t, u32 next_ref)
{
    return 2 * (t->refs + next_ref);
}

/* Whether a touch of the line stays. */
INLINE bool is_new(u64 *latest, u64 mask, u64 line)
{
    const bool stays = latest[line & mask] != line;
    latest[line & mask] = line;
    return stays;
}

/* -- Data --------------------------------------------------------------------------------------- */

static u32 size_of(const struct touch_maker *m, const struct batch *b, u32 *id)
{
    const u32 odd = *id & BATCH_ODD ? *id & ~BATCH_ODD : UINT32_MAX;
    if (odd == UINT32_MAX)
        return m->table->refs.v[*id].size;
    *id = b->odd[odd].ref;
    return b->odd[odd].size;
}

/* Sizes of all references of the table, less 1, in a byte each. */
static void know_sizes(struct touch_maker *m)
{
    const struct unit_table *x = m->table;
    const size_t units = load_acquire(&x->units.n);
    const struct unit *last = units ? &x->units.v[units - 1] : NULL;
    for (size_t n = last ? last->ref0 + last->n_refs : 0; m->sizes.n < n;) {
        const u32 size = x->refs.v[m->sizes.n].size;
        vec_push(&m->sizes, (u8)(MIN(size, (u32)SIZE_MOST) - 1));
    }
}

/* Where a touch goes, all of it but its line in one word. */
INLINE void write_touch(struct touch *to, u64 line, u64 id_and_at)
{
    to->line = line;
    memcpy(&to->id, &id_and_at, sizeof id_and_at);
}

/* Lines of a reference behind its first one. There must be room for `more` touches then. */
static __attribute__((noinline)) struct touch *add_more_lines(struct touches *t, struct touch *to, u64 from, u32 size, u64 id_and_at, u32 more)
{
    struct touch_list *list = &t->lines[TOUCH_OF_DATA];
    const struct touch_places p = t->maker->data.places;
    const u64 last = (from + size - 1) >> p.log2;
    u64 line = from >> p.log2;
    list->v.n = (size_t)(to - list->v.v);
    to = vec_grow(&list->v, last - line + more);
    while (++line <= last) {
        write_touch(to, line, id_and_at);
        to += is_new(t->maker->data.line, p.mask, line);
    }
    return to;
}

/* Up to the first reference whose size is only known at run time: where that is. Each touch is written, and stays if its line is not the latest: a branch would
 * often be mispredicted. */
static u32 add_refs(struct touches *t, const struct batch *b, u32 j)
{
    const struct touch_maker *m = t->maker;
    struct touch_list *list = &t->lines[TOUCH_OF_DATA];
    const u64 *address = b->addr, all = ADDRESS_MASK;
    const u32 *ref = b->ref, n = b->n_refs, log2 = m->data.places.log2;
    const u8 *sizes = m->sizes.v;
    const u64 mask = m->data.places.mask, rest = (1ull << log2) - 1;
    u64 *latest = t->maker->data.line, at = (u64)at_ref(t, j) << 32;
    struct touch *to = vec_grow(&list->v, n - j);
    for (; j < n; j++, at += 2ull << 32) {
        const u32 id = ref[j];
        if (__builtin_expect(id & BATCH_ODD, 0))
            break;
        const u64 from = address[j] & all, line = from >> log2;
        write_touch(to, line, at | id);
        to += is_new(latest, mask, line);
        if (__builtin_expect((from & rest) + sizes[id] > rest, 0))
            to = add_more_lines(t, to, from, m->table->refs.v[id].size, at | id, n - j);
    }
    list->v.n = (size_t)(to - list->v.v);
    return j;
}

static void add_data(struct touches *t, const struct batch *b)
{
    know_sizes(t->maker);
    for (u32 j = 0; (j = add_refs(t, b, j)) < b->n_refs; j++) {
        struct touch_list *list = &t->lines[TOUCH_OF_DATA];
        const u64 from = b->addr[j] & ADDRESS_MASK;
        u32 id = b->ref[j];
        const u32 size = size_of(t->maker, b, &id);
        struct touch *to = vec_grow(&list->v, 1);
        write_touch(to, from >> t->maker->data.places.log2, (u64)at_ref(t, j) << 32 | id);
        to += is_new(t->maker->data.line, t->maker->data.places.mask, to->line);
        to = add_more_lines(t, to, from, size, (u64)at_ref(t, j) << 32 | id, 0);
        list->v.n = (size_t)(to - list->v.v);
    }
}

/* -- Code --------------------------------------------------------------------------------------- */

static void write_insn(struct touch_maker *m, u32 id, u32 refs)
{
    const struct unit_insn *in = &m->table->insns.v[id];
    const struct touch_places p = m->code.places;
    const u64 from = in->pc & ADDRESS_MASK, last = (from + in->len - 1) >> p.log2;
    for (u64 line = from >> p.log2; line <= last; line++)
        if (is_new(m->own.line, p.mask, line))
            vec_push(&m->code_lines, ((struct touch){{line}, id | TOUCH_CODE, {2 * refs}}));
}

/* The lines of an exit's code are known, but for what was the latest line of each set before it; those that the record itself makes needless are left out. */
static __attribute__((noinline)) void write_code(struct touch_maker *m, struct touch_code *c, const struct unit_exit *x)
{
    const struct unit *u = &m->table->units.v[x->unit];
    const struct ref *r = &m->table->refs.v[u->ref0];
    const size_t first = m->code_lines.n;
    u32 j = 0;
    touch_filter_forget(&m->own);
    c->known = c->plain = true;
    c->passed = 0;
    for (u32 i = 0; i < x->insns; i++) {
        write_insn(m, u->insn0 + i, j);
        for (; j < x->refs && r[j].insn == i; j++)
            c->plain &= ref_is_made_once(&r[j]);
    }
    c->first = (u32)first;
    c->n = (u16)(m->code_lines.n - first);
    if (m->code_lines.n - first > UINT16_MAX)
        c->plain = false;
}

static inline struct touch_code *code_of(struct touch_maker *m, u32 exit)
{
    if (__builtin_expect(exit < m->codes.n && m->codes.v[exit].known, 1))
        return &m->codes.v[exit];
    vec_reach(&m->codes, exit);
    write_code(m, &m->codes.v[exit], &m->table->exits.v[exit]);
    return &m->codes.v[exit];
}

static inline struct touch *add_code_line(struct touch *to, const struct touch *x, u64 at, u64 *latest, u64 mask)
{
    u64 id_and_at;
    memcpy(&id_and_at, &x->id, sizeof id_and_at);
    write_touch(to, x->line, id_and_at + at);
    return to + is_new(latest, mask, x->line);
}

static inline void add_code(struct touches *t, const struct touch_code *c, u32 at)
{
    struct touch_maker *m = t->maker;
    struct touch_list *list = &t->lines[TOUCH_OF_CODE];
    const u64 mask = m->code.places.mask;
    const struct touch *x = m->code_lines.v + c->first;
    struct touch *to = vec_grow(&list->v, c->n);
    for (u32 i = 0; i < c->n; i++)
        to = add_code_line(to, x + i, (u64)at << 32, m->code.line, mask);
    list->v.n = (size_t)(to - list->v.v);
}

static void add_insns(struct touches *t, u32 id, u32 n, u32 next_ref)
{
    struct touch_maker *m = t->maker;
    const struct touch_places p = m->code.places;
    for (u32 i = id; i < id + n; i++) {
        const struct unit_insn *in = &m->table->insns.v[i];
        const u64 from = in->pc & ADDRESS_MASK, last = (from + in->len - 1) >> p.log2;
        for (u64 line = from >> p.log2; line <= last; line++)
            if (is_new(m->code.line, p.mask, line))
                vec_push(&t->lines[TOUCH_OF_CODE].v, ((struct touch){{line}, i | TOUCH_CODE, {at_code(t, next_ref)}}));
    }
}

/* The code of any record, before the references that it makes; `shown` instructions were seen to before. */
static void add_any(struct touches *t, const struct events *e, u32 i, bool continues, bool unfinished)
{
    struct touch_maker *m = t->maker;
    const struct unit_table *x = m->table;
    const struct batch *b = e->batch;
    u32 shown = continues ? e->shown : 0;
    struct ran r;
    if (!events_ran(e, i, &r))
        return;
    const u32 insn0 = x->units.v[r.unit].insn0, n_insns = x->units.v[r.unit].n_insns;
    for (u32 j = b->first[i]; j < b->first[i + 1]; j++) {
        u32 id = b->ref[j];
        (void)size_of(m, b, &id);
        const struct ref *s = &x->refs.v[id];
        if (s->insn >= n_insns) /* not this unit's: a live program has changed its partial record */
            break;
        if (s->insn >= shown)
            add_insns(t, insn0 + shown, s->insn + 1u - shown, j);
        shown = MAX(shown, s->insn + 1u);
        if (!ref_is_made_once(s) || r.partial) {
            vec_reach(&m->refs, id);
            m->refs.v[id]++;
        }
    }
    if (unfinished)
        return;
    if (shown < r.insns)
        add_insns(t, insn0 + shown, r.insns - shown, b->first[i + 1]);
    passes_count(&m->passes, e, i, &r);
}

static void add_records(struct touches *t, const struct events *e)
{
    struct touch_maker *m = t->maker;
    const struct batch *b = e->batch;
    for (u32 i = 0; i < b->n_records; i++) {
        const bool begun = e->continues && i == 0, goes_on = e->unfinished && i + 1 == b->n_records;
        const u32 id = b->exit[i];
        struct touch_code *c = id >= FIRST_EXIT_ID ? code_of(m, id - FIRST_EXIT_ID) : NULL;
        if (begun || goes_on || !c || !c->plain) {
            add_any(t, e, i, begun, goes_on);
            continue;
        }
        add_code(t, c, at_code(t, b->first[i]));
        c->passed++;
    }
}

void touch_lines_add(struct touches *t, const struct events *e)
{
    add_data(t, e->batch);
    add_records(t, e);
    t->refs += e->batch->n_refs;
}

/* -- Parts -------------------------------------------------------------------------------------- */

/* An event's touches follow each other, each with a higher line. Two records without references may have the same places; then its lines begin anew. */
bool touch_goes_on(const struct touch *x, const struct touch *before)
{
    return x->at == before->at && x->id == before->id && x->line > before->line;
}

static void deal(struct touches *t, struct touch_list *list, enum touch_side side, u32 line_log2)
{
    const struct touch *x = list->v.v, *end = x + list->v.n;
    while (x < end) {
        const struct touch *first = x;
        const u32 number = (u32)t->crossings.n;
        bool crosses = false;
        while (++x < end && touch_goes_on(x, x - 1))
            crosses |= touch_part(t, x->line << line_log2) != touch_part(t, first->line << line_log2);
        if (crosses)
            vec_push(&t->crossings, ((struct crossing){.id = first->id}));
        for (; first < x; first++) {
            struct touch piece = *first;
            if (crosses) {
                piece.id = number | (piece.id & TOUCH_CODE);
                piece.at |= TOUCH_CROSSING;
            }
            vec_push(&t->part[touch_part(t, piece.line << line_log2)].of[side].v, piece);
        }
    }
    list->v.n = 0;
}

void touch_lines_deal(struct touches *t)
{
    deal(t, &t->lines[TOUCH_OF_CODE], TOUCH_OF_CODE, t->maker->code.places.log2);
    deal(t, &t->lines[TOUCH_OF_DATA], TOUCH_OF_DATA, t->maker->data.places.log2);
}
