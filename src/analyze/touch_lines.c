/* SPDX-License-Identifier: MIT */
/* From batches to touches of lines.
 *
 * Data and code are looked at apart, so that neither waits for a branch that nobody can foretell: all references of a batch one after the other, wherever its
 * records begin, and of each record the lines of its code, which are written down once for each exit. */
#include "analyze/touches.h"
#include "wire/wire.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    SIZE_MOST = 128, /* of a reference: so much or more */
    SIZE_WRITES = 128, /* a bit above the size: it writes, and that matters */
    AT_ONCE = 8,
    COPIED = 16, /* sizes at a time */
    MAYBE = 256, /* lines that are looked at together */
    AHEAD_TRIED = 16, /* looking ahead is tried once in so many batches, and goes on as long as more than one of so many references */
    AHEAD_PAYS = 4,   /* is left out: it takes half as long again as looking back, and does nothing for most programs */
    LINES_MOST = 2 + SIZE_MOST / 16, /* lines, of 16 bytes or more, that a reference of less than SIZE_MOST comes to */
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

/* -- Data --------------------------------------------------------------------------------------- */

static u32 size_of(const struct touch_maker *m, const struct batch *b, u32 *id)
{
    const u32 odd = *id & BATCH_ODD ? *id & ~BATCH_ODD : UINT32_MAX;
    if (odd == UINT32_MAX)
        return m->table->refs.v[*id].size;
    *id = b->odd[odd].ref;
    return b->odd[odd].size;
}

/* Sizes of all references of the table, less 1, in a byte each, with SIZE_WRITES. */
static void know_sizes(struct touch_maker *m)
{
    const struct unit_table *x = m->table;
    const size_t units = load_acquire(&x->units.n);
    const struct unit *last = units ? &x->units.v[units - 1] : NULL;
    for (size_t n = last ? last->ref0 + last->n_refs : 0; m->sizes.n < n;) {
        const struct ref *r = &x->refs.v[m->sizes.n];
        vec_push(&m->sizes, (u8)((MIN(r->size, (u32)SIZE_MOST) - 1) | (m->data.writes && r->kind != REF_LOAD ? SIZE_WRITES : 0)));
    }
    (void)vec_grow(&m->sizes, COPIED); /* they are read so many at a time */
    m->sizes.n -= COPIED;
}

/* Where a touch goes, all of it but its line in one word. */
INLINE void write_touch(struct touch *to, u64 line, u64 id_and_at)
{
    to->line = line;
    memcpy(&to->id, &id_and_at, sizeof id_and_at);
}

/* A reference, line by line. */
static __attribute__((noinline)) void add_ref(struct touches *t, const struct batch *b, u32 j)
{
    struct touch_list *list = &t->lines[TOUCH_OF_DATA];
    const struct touch_places p = t->maker->data.places;
    u32 id = b->ref[j];
    const u64 from = b->addr[j] & ADDRESS_MASK, last = (from + size_of(t->maker, b, &id) - 1) >> p.log2;
    const u64 written = t->maker->data.writes && t->maker->table->refs.v[id].kind != REF_LOAD ? TOUCH_WRITTEN : 0;
    for (u64 line = from >> p.log2; line <= last; line++)
        if (touch_is_new_or_written(&t->maker->data.line[line & p.mask], line | written, false))
            vec_push(&list->v, ((struct touch){{line | written}, id, {at_ref(t, j)}}));
}

/* Lines that may be touched, of references that come to one each, and what else makes a touch of them. */
struct maybe {
    u64 line[MAYBE + AT_ONCE * LINES_MOST], id_and_at[MAYBE + AT_ONCE * LINES_MOST];
    u32 n;
};

/* Each touch is written, and stays if its line is not the latest: a branch would often be mispredicted. `writes` is whether they matter. */
INLINE void add_maybe(struct touches *t, struct maybe *x, bool writes)
{
    struct touch_list *list = &t->lines[TOUCH_OF_DATA];
    u64 *latest = t->maker->data.line;
    const u64 mask = t->maker->data.places.mask;
    struct touch *to = vec_grow(&list->v, x->n);
    for (u32 i = 0; i < x->n; i++) {
        const u64 line = x->line[i];
        write_touch(to, line, x->id_and_at[i]);
        to += writes ? touch_is_new_or_written(&latest[line & mask], line, false) : touch_is_new(&latest[line & mask], line);
    }
    list->v.n = (size_t)(to - list->v.v);
    x->n = 0;
}

/* A reference, of whatever size. */
INLINE void add_whole(struct touches *t, const struct batch *b, u32 j, struct maybe *x, bool writes)
{
    const u32 log2 = t->maker->data.places.log2, size = t->maker->size[j] & (SIZE_MOST - 1);
    const u64 from = b->addr[j] & ADDRESS_MASK, last = (from + size) >> log2, written = t->maker->size[j] & SIZE_WRITES ? TOUCH_WRITTEN : 0;
    if (__builtin_expect(size == SIZE_MOST - 1, 0)) {
        add_maybe(t, x, writes);
        add_ref(t, b, j);
        return;
    }
    for (u64 line = from >> log2; line <= last; line++) {
        x->line[x->n] = line | written;
        x->id_and_at[x->n++] = (u64)at_ref(t, j) << 32 | b->ref[j];
    }
}

static void add_refs_one_by_one(struct touches *t, const struct batch *b)
{
    struct maybe x = {.n = 0};
    for (u32 j = 0; j < b->n_refs; j++) {
        add_whole(t, b, j, &x, true);
        if (x.n >= MAYBE)
            add_maybe(t, &x, true);
    }
    add_maybe(t, &x, true);
}

#define VECTORS __attribute__((target("avx512f,avx512bw,avx512vl,popcnt,bmi,bmi2")))

/* Eight references on their way. As bits: they are there; the latest line of the set was theirs, so they change nothing; one of the four references before was
 * of the same line; they write, and that matters. */
struct eight {
    __m512i lines, id_and_at;
    u32 there, needless, recent, writes;
};

/* The lines before these eight, by one more. A write needs one before it. */
#define LOOK_BACK(by)                                                                    \
    do {                                                                                 \
        const __m512i earlier = _mm512_alignr_epi64(lines, before, AT_ONCE - (by));      \
        const __m512i differs = _mm512_xor_si512(lines, earlier);                        \
        const u32 same = _mm512_testn_epi64_mask(differs, differs);                      \
        needless |= open & same & ~(written & ~(written << (by) | latest.writes >> (AT_ONCE - (by)))); \
        recent |= same;                                                                  \
        open &= _mm512_test_epi64_mask(differs, sets);                                   \
    } while (0)

/* The lines behind them. */
#define LOOK_AHEAD(by)                                                                   \
    do {                                                                                 \
        const __m512i later = _mm512_alignr_epi64(next->lines, x->lines, by);            \
        const __m512i differs = _mm512_xor_si512(x->lines, later);                       \
        const u32 same = _mm512_testn_epi64_mask(differs, differs);                      \
        comes_again |= open & same & ~(needless >> (by)) & ~(x->writes & ~(writes >> (by))); \
        open &= ~same & (_mm512_test_epi64_mask(differs, sets) | recent >> (by));        \
    } while (0)

/* Of eight references, those that may be left out because the same line comes again, if what comes to the set until then was there a moment ago, as it was itself: as
 * long as nobody comes who may have to be let in, the order of a set does not matter. */
INLINE VECTORS u32 comes_again(const struct eight *x, const struct eight *next, __m512i sets)
{
    const u32 needless = x->needless | next->needless << AT_ONCE, recent = x->recent | next->recent << AT_ONCE, writes = x->writes | next->writes << AT_ONCE;
    u32 comes_again = 0, open = x->recent & ~x->needless;
    LOOK_AHEAD(1);
    LOOK_AHEAD(2);
    LOOK_AHEAD(3);
    LOOK_AHEAD(4);
    return comes_again;
}

INLINE VECTORS void let_go(struct touches *t, const struct eight *x, u32 more_needless, struct maybe *to, bool writes)
{
    const __mmask8 stay = (__mmask8)(x->there & ~x->needless & ~more_needless);
    const __m512i lines = writes ? _mm512_mask_or_epi64(x->lines, (__mmask8)x->writes, x->lines, _mm512_set1_epi64((s64)TOUCH_WRITTEN)) : x->lines;
    _mm512_storeu_si512(to->line + to->n, _mm512_maskz_compress_epi64(stay, lines));
    _mm512_storeu_si512(to->id_and_at + to->n, _mm512_maskz_compress_epi64(stay, x->id_and_at));
    to->n += (u32)_mm_popcnt_u32(stay);
    if (to->n > MAYBE)
        add_maybe(t, to, writes);
}

/* The same for eight at a time; left out is what those before and behind show to be needless. */
INLINE VECTORS void add_eights(struct touches *t, const struct batch *b, bool writes)
{
    const u32 n = b->n_refs;
    const struct touch_places p = t->maker->data.places;
    struct touch_maker *m = t->maker;
    const bool looks_ahead = m->keeps_four && (m->ahead_pays || m->batches++ % AHEAD_TRIED == 0);
    u32 left_out = 0;
    const __m512i all = _mm512_set1_epi64((s64)ADDRESS_MASK), rest = _mm512_set1_epi64((1ll << p.log2) - 1), sets = _mm512_set1_epi64((s64)p.mask),
                  most = _mm512_set1_epi64(SIZE_MOST - 1), two_more = _mm512_set1_epi64((2ll * AT_ONCE) << 32);
    const __m128i log2 = _mm_cvtsi32_si128((int)p.log2);
    __m512i at = _mm512_add_epi64(_mm512_set1_epi64((s64)at_ref(t, 0) << 32), _mm512_slli_epi64(_mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), 32));
    const struct eight none = {.lines = _mm512_set1_epi64(-1)}; /* of a set that a line may be of, but no line */
    struct eight latest = none;
    struct maybe x = {.n = 0};
    for (u32 i = 0; i < n; i += AT_ONCE, at = _mm512_add_epi64(at, two_more)) {
        const u32 there = n - i < AT_ONCE ? (1u << (n - i)) - 1 : 0xff;
        const __m512i from = _mm512_and_si512(_mm512_loadu_si512(b->addr + i), all), lines = _mm512_srl_epi64(from, log2), before = latest.lines;
        const __m128i sizes = _mm_loadl_epi64((const void *)(t->maker->size + i));
        const __m512i size = _mm512_cvtepu8_epi64(_mm_and_si128(sizes, _mm_set1_epi8(SIZE_MOST - 1)));
        const u32 written = writes ? (u32)_mm_movemask_epi8(sizes) & there : 0;
        const __m512i end = _mm512_add_epi64(_mm512_and_si512(from, rest), size);
        const u32 crosses = (u32)_mm512_cmpgt_epi64_mask(end, rest) | _mm512_cmpeq_epi64_mask(size, most); /* or may, where lines are long */
        if (__builtin_expect(crosses & there, 0)) {
            let_go(t, &latest, 0, &x, writes);
            for (u32 j = i; j < MIN(i + AT_ONCE, n); j++)
                add_whole(t, b, j, &x, writes);
            if (x.n > MAYBE)
                add_maybe(t, &x, writes);
            latest = none;
            continue;
        }
        u32 needless = 0, recent = 0, open = there;
        LOOK_BACK(1);
        LOOK_BACK(2);
        LOOK_BACK(3);
        LOOK_BACK(4);
        const __m512i id = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const void *)(b->ref + i)));
        const struct eight next = {lines, _mm512_or_si512(at, id), there, needless, recent & there, written};
        const u32 again = looks_ahead ? comes_again(&latest, &next, sets) : 0;
        left_out += (u32)_mm_popcnt_u32(again);
        let_go(t, &latest, again, &x, writes);
        latest = next;
    }
    let_go(t, &latest, 0, &x, writes);
    add_maybe(t, &x, writes);
    if (looks_ahead)
        m->ahead_pays = left_out > n / AHEAD_PAYS;
}

static VECTORS void add_refs_vectors(struct touches *t, const struct batch *b)
{
    add_eights(t, b, false);
}

static VECTORS void add_refs_vectors_written(struct touches *t, const struct batch *b)
{
    add_eights(t, b, true);
}

static void add_data(struct touches *t, const struct batch *b)
{
    (!t->maker->has_vectors ? add_refs_one_by_one : t->maker->data.writes ? add_refs_vectors_written : add_refs_vectors)(t, b);
}

/* -- Code --------------------------------------------------------------------------------------- */

static void write_insn(struct touch_maker *m, u32 id, u32 refs)
{
    const struct unit_insn *in = &m->table->insns.v[id];
    const struct touch_places p = m->code.places;
    const u64 from = in->pc & ADDRESS_MASK, last = (from + in->len - 1) >> p.log2;
    for (u64 line = from >> p.log2; line <= last; line++)
        if (touch_is_new(&m->own.line[line & p.mask], line))
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
    c->n = (u32)(m->code_lines.n - first);
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
    return to + touch_is_new(&latest[x->line & mask], x->line);
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

/* The same where there is no telling how many references an instruction makes. */
static void add_special(struct touches *t, const struct batch *b, u32 i, const struct touch_code *c)
{
    struct touch_maker *m = t->maker;
    struct touch_list *list = &t->lines[TOUCH_OF_CODE];
    const struct unit_table *table = m->table;
    const u32 insn0 = table->units.v[table->exits.v[b->exit[i] - FIRST_EXIT_ID].unit].insn0;
    const struct touch *x = m->code_lines.v + c->first, *end = x + c->n;
    struct touch *to = vec_grow(&list->v, c->n);
    for (u32 j = b->first[i]; j < b->first[i + 1]; j++) {
        u32 id = b->ref[j];
        (void)size_of(m, b, &id);
        const struct ref *r = &table->refs.v[id];
        for (; x < end && (x->id & ~TOUCH_CODE) <= insn0 + r->insn; x++)
            to = add_code_line(to, x, ((u64)at_code(t, j) - x->at) << 32, m->code.line, m->code.places.mask);
        if (!ref_is_made_once(r)) {
            vec_reach(&m->refs, id);
            m->refs.v[id]++;
        }
    }
    for (; x < end; x++)
        to = add_code_line(to, x, ((u64)at_code(t, b->first[i + 1]) - x->at) << 32, m->code.line, m->code.places.mask);
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
            if (touch_is_new(&m->code.line[line & p.mask], line))
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

/* Sizes of a record's references, less 1. */
static void add_sizes(struct touch_maker *m, const struct batch *b, u32 i)
{
    for (u32 j = b->first[i]; j < b->first[i + 1]; j++)
        m->size[j] = b->ref[j] & BATCH_ODD ? SIZE_MOST - 1 : m->sizes.v[b->ref[j]]; /* of odd ones add_ref finds out all */
}

/* The same where they are one behind the other in the table, too; what is written behind them comes to be overwritten. */
static inline void copy_sizes(struct touch_maker *m, const struct batch *b, u32 i)
{
    const u32 first = b->first[i], n = b->first[i + 1] - first;
    for (u32 j = 0; j < n; j += COPIED)
        memcpy(m->size + first + j, m->sizes.v + b->ref[first] + j, COPIED);
}

static void add_records(struct touches *t, const struct events *e)
{
    struct touch_maker *m = t->maker;
    const struct batch *b = e->batch;
    know_sizes(m);
    for (u32 i = 0; i < b->n_records; i++) {
        const bool begun = e->continues && i == 0, goes_on = e->unfinished && i + 1 == b->n_records;
        const u32 id = b->exit[i];
        struct touch_code *c = id >= FIRST_EXIT_ID ? code_of(m, id - FIRST_EXIT_ID) : NULL;
        if (begun || goes_on || !c) {
            add_sizes(m, b, i);
            add_any(t, e, i, begun, goes_on);
            continue;
        }
        if (c->plain) {
            copy_sizes(m, b, i);
            add_code(t, c, at_code(t, b->first[i]));
        } else {
            add_sizes(m, b, i);
            add_special(t, b, i, c);
        }
        c->passed++;
    }
}

void touch_lines_add(struct touches *t, const struct events *e)
{
    add_records(t, e);
    add_data(t, e->batch);
    t->refs += e->batch->n_refs;
}

/* -- Parts -------------------------------------------------------------------------------------- */

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
