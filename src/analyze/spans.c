/* SPDX-License-Identifier: MIT */
/* From batches to spans. */
#include "analyze/spans.h"
#include "analyze/span_marks.h"
#include "base/err.h"

#include <immintrin.h>
#include <stdlib.h>

enum {
    TOP = 4,            /* lines that are looked at first */
    SECOND = 8,         /* ... and those behind them */
    SLOTS_LOG2 = 14,    /* twice as many slots as times */
    NEIGHBOURS = 8,     /* lines that share a slot */
    BLOCK = 256,        /* references that go through the top together */
    REF_LINES = 2,      /* at most, of each of these */
    IN_TOP = UINT16_MAX, /* no time */
};
#define NO_LINE ((u64)-1)

/* Lines that the span has come to; a slot of an earlier span is empty. */
struct slot {
    u64 key; /* of its lines, what they share */
    u32 span;
    u16 time[NEIGHBOURS]; /* + 1; 0: not touched */
};

/* The lines touched latest, the last one first; all are different, or NO_LINE. */
struct top {
    u64 line[TOP];
    u64 found[TOP]; /* how often, at each place but the first */
};

/* A line that was not at the top comes there, and another leaves, which may be NO_LINE. */
struct rise {
    u64 line, leaves;
    u32 id;
};

struct spanner {
    const struct span_options *options;
    const struct unit_table *table;
    struct span_sites sites;
    struct spans *to;
    struct span span; /* that is being made */
    u32 sample;
    u32 number; /* of the span, never 0 */
    struct top top;
    _Alignas(64) u64 second[SECOND]; /* lines that have left the top, the last one first, or NO_LINE */
    bool looks_twice; /* of this span: lines go from the top to the second ones, else past them */
    u32 all, soon;    /* rises in this span, and those of lines that were or would have been second */
    u32 n_rises; /* that are to be seen to */
    struct rise rises[BLOCK * REF_LINES];
    u32 exact[SPAN_TIMES + TOP + SECOND]; /* how many have each distance, if there is no sample; none is as great as the span has lines */
    struct span_time time;
    struct span_marks marks;
    struct slot *slots;
    bool fast;  /* the processor has what MARKS_FAST asks for */
    bool wide;  /* ... and vectors of 64 bytes */
};

/* -- Spans -------------------------------------------------------------------------------------- */

void spans_reset(struct spans *s, u32 thread)
{
    s->thread = thread;
    s->list.n = s->lines.n = s->accesses.n = 0;
    s->near = (struct distances){0};
}

void spans_fini(struct spans *s)
{
    vec_fini(&s->list);
    vec_fini(&s->lines);
    vec_fini(&s->accesses);
}

struct spanner *spanner_new(const struct span_options *o, const struct unit_table *t)
{
    struct spanner *s = aligned_alloc(_Alignof(struct spanner), sizeof *s);
    check(s != NULL);
    memset(s, 0, sizeof *s);
    s->options = o;
    s->sites.fars.limits = &o->far;
    s->table = t;
    s->fast = marks_are_fast() && !o->plain;
    s->wide = s->fast && __builtin_cpu_supports("avx512f") && o->far.least[0] >= TOP + SECOND;
    s->slots = calloc(1ul << SLOTS_LOG2, sizeof *s->slots);
    check(s->slots != NULL);
    return s;
}

void spanner_free(struct spanner *s)
{
    vec_fini(&s->sites.refs);
    vec_fini(&s->sites.insns);
    fars_fini(&s->sites.fars);
    free(s->slots);
    free(s);
}

const struct span_sites *spanner_sites(const struct spanner *s)
{
    return &s->sites;
}

/* -- The top ------------------------------------------------------------------------------------ */

/* Move a line to the first place; was it there? The one that leaves otherwise is *last. */
MARKS_INLINE bool touch_top(struct top *t, u64 line, u64 *last)
{
    u64 moves = t->line[0];
    if (line == moves)
        return true;
    t->line[0] = line;
#pragma GCC unroll 8
    for (u32 k = 1; k < TOP; k++) {
        u64 was = t->line[k];
        t->line[k] = moves;
        if (line == was) {
            t->found[k]++;
            return true;
        }
        moves = was;
    }
    *last = moves;
    return false;
}

static void list_access(struct spanner *s, struct top *top, u64 line, u32 id)
{
    if (line != top->line[0])
        vec_push(&s->to->accesses, ((struct access){line, id}));
    top->line[0] = line;
}

MARKS_INLINE void access_line(struct spanner *s, struct top *top, u64 line, u32 id, bool samples)
{
    u64 last;
    if (samples && !line_is_sampled(line, s->sample))
        return;
    if (samples && s->options->lists)
        list_access(s, top, line, id);
    else if (!touch_top(top, line, &last))
        s->rises[s->n_rises++] = (struct rise){line, last, id};
}

/* -- Behind the top ----------------------------------------------------------------------------- */

#define WIDE __attribute__((target("avx512f")))

static inline WIDE u64 last_of(__m512i v)
{
    return (u64)_mm_cvtsi128_si64(_mm512_castsi512_si128(_mm512_alignr_epi64(v, v, SECOND - 1)));
}

/* Rises of lines that are second end here; what is left are those of others. Where a line is found is a branch for each place: in loops it is
 * foreseen, and the next line need not wait for the comparison. */
static WIDE void look_twice(struct spanner *s)
{
    u64 found[SECOND] = {0};
    __m512i v = _mm512_load_si512(s->second);
    u32 n = 0;
    for (u32 i = 0; i < s->n_rises; i++) {
        struct rise x = s->rises[i];
        __m512i shifted = _mm512_alignr_epi64(v, _mm512_set1_epi64((s64)x.leaves), SECOND - 1);
        u32 at = _mm512_cmpeq_epi64_mask(v, _mm512_set1_epi64((s64)x.line));
        switch (at) {
#define PLACE(k)                                             \
    case 1 << k:                                             \
        v = _mm512_mask_mov_epi64(v, (2 << k) - 1, shifted); \
        found[k]++;                                          \
        break;
            PLACE(0) PLACE(1) PLACE(2) PLACE(3) PLACE(4) PLACE(5) PLACE(6) PLACE(7)
#undef PLACE
        default:
            x.leaves = last_of(v);
            s->rises[n++] = x;
            v = shifted;
        }
    }
    for (u32 k = 0; k < SECOND; k++)
        distances_count(&s->to->near, 0, TOP + k, found[k]);
    s->soon += s->n_rises - n;
    s->n_rises = n;
    _mm512_store_si512(s->second, v);
}

/* -- All others --------------------------------------------------------------------------------- */

/* Where the time of a line is; if nobody has come near it in this span, an empty slot is made its own. */
MARKS_INLINE u16 *find(struct slot *slots, u32 span, u64 line)
{
    u64 key = line / NEIGHBOURS;
    u32 i = (u32)(key * 0x9e3779b97f4a7c15 >> (64 - SLOTS_LOG2));
    for (;; i = (i + 1) % (1u << SLOTS_LOG2)) {
        if (slots[i].span != span)
            slots[i] = (struct slot){.key = key, .span = span};
        else if (slots[i].key != key)
            continue;
        return &slots[i].time[line % NEIGHBOURS];
    }
}

static __attribute__((noinline)) void note_far(struct spanner *s, u32 id, u64 d)
{
    fars_count(&s->sites.fars, id, d, 1ull << s->sample);
}

MARKS_INLINE void count(struct spanner *s, const struct rise *x, u64 d, bool samples)
{
    if (samples) {
        d <<= s->sample;
        distances_count(&s->to->near, line_group(x->line, s->sample), d, 1ull << s->sample);
    } else {
        s->exact[d]++;
    }
    if (d >= s->options->far.least[0])
        note_far(s, x->id, d);
}

/* See to all rises. */
MARKS_INLINE void rise(struct spanner *s, bool samples)
{
    const u32 above = s->looks_twice ? TOP + SECOND : TOP;
    u32 soon = 0;
    struct span_time time = s->time; /* in registers */
    struct slot *slots = s->slots;
    const u32 span = s->number;
    const struct rise *end = s->rises + s->n_rises;
    struct span_line *new = vec_grow(&s->to->lines, s->n_rises);
    for (const struct rise *x = s->rises; x < end; x++) {
        u16 *t = find(slots, span, x->line);
        if (*t) {
            u32 d = above + span_remove(&s->marks, &time, *t - 1u);
            count(s, x, d, samples);
            soon += d < TOP + SECOND;
        } else { /* until the span is closed, the rank is where the time is */
            *new++ = (struct span_line){x->line, x->id, (u32)(t - (u16 *)slots)};
        }
        *t = IN_TOP;
        if (x->leaves != NO_LINE)
            *find(slots, span, x->leaves) = (u16)(span_push(&s->marks, &time) + 1);
    }
    s->to->lines.n = (size_t)(new - s->to->lines.v);
    s->time = time;
    s->soon += soon;
    s->n_rises = 0;
}

static void rise_plain(struct spanner *s)
{
    rise(s, true);
}

static MARKS_FAST void rise_fast(struct spanner *s)
{
    rise(s, false);
}

static MARKS_FAST void rise_fast_sampled(struct spanner *s)
{
    rise(s, true);
}

static void rise_all(struct spanner *s)
{
    s->all += s->n_rises;
    if (s->looks_twice)
        look_twice(s);
    (!s->fast ? rise_plain : s->sample ? rise_fast_sampled : rise_fast)(s);
}

/* -- A span's begin and end --------------------------------------------------------------------- */

static void open_span(struct spanner *s)
{
    s->number++;
    if (!s->number) { /* again: those of old times must not be taken for ours */
        memset(s->slots, 0, sizeof *s->slots << SLOTS_LOG2);
        s->number = 1;
    }
    s->span = (struct span){.first = s->to->lines.n};
    /* To look at the second lines costs a third of what it saves, if it was such a line. */
    s->looks_twice = s->wide && !s->sample && 3 * s->soon > s->all;
    s->soon = s->all = 0;
    memset(s->second, 0xff, sizeof s->second);
    for (u32 k = 0; k < TOP; k++) {
        s->top.line[k] = NO_LINE;
        s->top.found[k] = 0;
    }
    memset(s->marks.bits, 0, (s->time.now + 63) / 64 * sizeof s->marks.bits[0]);
    s->time = (struct span_time){0};
}

/* Those found at the first place are all that were not found elsewhere. Of a sample, distances in the top are too small to be known, so it
 * does not matter whose they are. */
static void count_top(struct spanner *s)
{
    u32 group = s->sample ? 1 : 0;
    for (u32 k = 1; k < TOP; k++)
        distances_count(&s->to->near, group, (u64)k << s->sample, s->top.found[k] << s->sample);
}

/* Lines that are at the top, the last one first, leave it. */
static void settle(struct spanner *s, const u64 *line, u32 n)
{
    while (n--)
        if (line[n] != NO_LINE)
            *find(s->slots, s->number, line[n]) = (u16)(span_push(&s->marks, &s->time) + 1);
}

static void count_exact(struct spanner *s)
{
    for (u32 d = TOP; d < s->span.n; d++)
        if (s->exact[d]) {
            distances_count(&s->to->near, 0, d, s->exact[d]);
            s->exact[d] = 0;
        }
}

/* Times become ranks. */
MARKS_INLINE void rank_lines(const struct spanner *s)
{
    struct span_line *x = s->to->lines.v + s->span.first;
    for (; x < s->to->lines.v + s->to->lines.n; x++)
        x->rank = span_before(&s->marks, ((const u16 *)s->slots)[x->rank] - 1u);
}

static void rank_plain(const struct spanner *s)
{
    rank_lines(s);
}

static MARKS_FAST void rank_fast(const struct spanner *s)
{
    rank_lines(s);
}

static void close_span(struct spanner *s)
{
    struct spans *to = s->to;
    if (s->options->lists)
        return;
    settle(s, s->second, SECOND);
    settle(s, s->top.line, TOP);
    s->span.n = (u32)(to->lines.n - s->span.first);
    (s->fast ? rank_fast : rank_plain)(s);
    count_top(s);
    count_exact(s);
    if (s->span.n)
        vec_push(&to->list, s->span);
}

static void turn_over_if_full(struct spanner *s, u32 lines)
{
    if (s->time.now + lines + TOP + SECOND <= SPAN_TIMES)
        return;
    close_span(s);
    open_span(s);
}

/* -- Records ------------------------------------------------------------------------------------ */

/* Let the references of the table have sites, also those that have come to a live one. */
static void reach_sites(struct spanner *s)
{
    size_t n = load_acquire(&s->table->refs.n);
    for (size_t i = s->sites.refs.n; i < n; i++)
        vec_push(&s->sites.refs, ((struct span_site){.size = s->table->refs.v[i].size}));
}

/* All lines of a stretch of memory; an address from a file may wrap around: then there is no other line. */
static void access_bytes(struct spanner *s, u64 address, u32 size, u32 id, u64 *accesses)
{
    u64 line = address >> s->options->log2, last = (address + size - 1) >> s->options->log2;
    do {
        turn_over_if_full(s, 1);
        access_line(s, &s->top, line, id, true);
        rise_all(s);
        ++*accesses;
        s->to->near.accesses++;
    } while (line++ < last);
    s->to->near.references++;
}

/* References from j on, up to one that is not in one or two lines. */
MARKS_INLINE u32 access_block(struct spanner *s, const struct batch *b, u32 j, u32 end, bool samples)
{
    const u32 log2 = s->options->log2, begin = j;
    struct span_site *sites = s->sites.refs.v;
    struct top top = s->top;
    u32 more = 0;
    for (; j < end; j++) {
        u32 id = b->ref[j];
        if (__builtin_expect(id & BATCH_ODD, 0))
            break;
        struct span_site *x = &sites[id];
        u64 line = b->addr[j] >> log2, last = (b->addr[j] + x->size - 1) >> log2;
        if (__builtin_expect(last != line, 0)) {
            if (last != line + 1)
                break;
            access_line(s, &top, line, id, samples);
            x->accesses++;
            more++;
        }
        access_line(s, &top, last, id, samples);
        x->accesses++;
    }
    s->to->near.references += j - begin;
    s->to->near.accesses += j - begin + more;
    s->top = top;
    return j;
}

static u32 block(struct spanner *s, const struct batch *b, u32 j, u32 end)
{
    return access_block(s, b, j, end, false);
}

static u32 block_sampled(struct spanner *s, const struct batch *b, u32 j, u32 end)
{
    return access_block(s, b, j, end, true);
}

static void access_ref(void *spanner, const struct reference *r, u32 i)
{
    struct spanner *s = spanner;
    (void)i;
    access_bytes(s, r->address, r->size, r->id, &s->sites.refs.v[r->id].accesses);
}

static void access_insn(void *spanner, u32 id, u32 i)
{
    struct spanner *s = spanner;
    const struct unit_insn *in = &s->table->insns.v[id];
    (void)i;
    vec_reach(&s->sites.insns, id);
    access_bytes(s, in->pc, in->len, id | FAR_CODE, &s->sites.insns.v[id].accesses);
}

/* Nothing but references: where their records begin does not matter. */
static void add_data(struct spanner *s, const struct events *e)
{
    const struct batch *b = e->batch;
    const bool samples = s->sample || s->options->lists;
    for (u32 j = 0; j < b->n_refs;) {
        u32 end = MIN(j + BLOCK, b->n_refs);
        turn_over_if_full(s, BLOCK * REF_LINES);
        j = (samples ? block_sampled : block)(s, b, j, end);
        rise_all(s);
        if (j == end)
            continue;
        struct reference r = reference_of(e, j++);
        access_ref(s, &r, 0);
    }
}

static void add_any(struct spanner *s, const struct events *e)
{
    accesses_walk(e, s->options->of, (struct accessor){access_insn, access_ref, NULL}, s);
}

void spanner_add(struct spanner *s, const struct events *e, u32 sample, struct spans *to)
{
    s->to = to;
    s->sample = sample;
    reach_sites(s);
    open_span(s);
    if (s->options->of == ACCESSED_data)
        add_data(s, e);
    else
        add_any(s, e);
    close_span(s);
}
