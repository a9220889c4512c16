/* SPDX-License-Identifier: MIT */
/* Eight addresses at a time with AVX-512: a record's slots become the lanes of a vector, beside
 * them a constant base and rsp; permute by the terms of the exit's references, add their
 * displacements, store.
 *
 * The walk from record to record never waits for a table, since a record's length is in its header;
 * and what nearly every record needs from the tables is one cache line, its plan. Four kinds of
 * plan:
 *
 *   small   at most 6 slots and 8 references, each one term + disp: 8 lanes, all in the plan
 *   full    at most 12 slots, any number of references, each two terms: 16 lanes, groups beside it
 *   wide    at most 120 slots, as hot units have, and any displacement: the first 8 lanes, and a window of 8 for each group
 *   slow    everything else: the scalar path
 *
 * On perl a first form with a plan, a group of 96 bytes and a branch around every optional step
 * took 8.3 ns a record; the full form alone takes 6.1. */
#include "decode/plan.h"
#include "wire/wire.h"

#include <immintrin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SMALL_SLOTS = 6, SMALL_BASE = 6, SMALL_RSP = 7, SMALL_REFS = 8 };
enum { FULL_SLOTS = 12, WIDE_SLOTS = 120, WINDOW = 8 };
enum { LANE_BASE, LANE_ZERO, LANE_FS, LANE_RSP };
enum { PLAN_NONE, PLAN_SMALL, PLAN_FULL, PLAN_WIDE, PLAN_SLOW };

struct plan {
    u8 kind, slots, rsp_term;
    union {
        u8 refs, groups; /* groups: of a wide plan */
    };
    u8 insns, loads, stores, modifies;
    s32 rsp_disp;
    u32 ref0;
    u32 group0; /* full and wide: the first of its groups */
    u32 base;   /* index into bases */
    u8 lane[SMALL_REFS];
    s32 disp[SMALL_REFS];
};
_Static_assert(sizeof(struct plan) == 64, "a plan is a cache line");

/* Eight references of a full plan: address = lane[a] + (lane[b] << shift) + disp. */
struct group {
    u8 a[8], b[8], shift[8];
    s32 disp[8];
};

/* One of the two terms of up to eight references of a wide plan: one of the first 8 slots, where the bases of arrays are, or of a window
 * of 8 others; or rsp, fs, or nothing. */
struct terms {
    u8 lane[8];
    u8 window;         /* its first slot */
    u8 slots, rsp, fs; /* masks: which references have which */
};

/* References of a wide plan that need no more than one window for each term; or one of a special form, and the one paired with it. */
struct wide_group {
    struct terms a, b;
    u8 shift[8];
    u8 n;
    bool special;
    u32 ref; /* of the exit, the first */
    s64 disp[8];
};

struct plans {
    struct plan *plan; /* by id on the wire; address space for all there can ever be */
    VEC(struct group) groups;
    VEC(struct wide_group) wide;
    VEC(u64) bases; /* what absolute references are relative to; the first is 0 */
};

static const size_t plan_bytes = (size_t)EXIT_ID_LIMIT * sizeof(struct plan);

struct plans *plans_new(void)
{
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq"))
        return NULL;
    struct plans *p = calloc(1, sizeof *p);
    check(p != NULL);
    p->plan = mmap(NULL, plan_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(p->plan != MAP_FAILED);
    vec_push(&p->bases, 0);
    return p;
}

void plans_free(struct plans *p)
{
    if (!p)
        return;
    munmap(p->plan, plan_bytes);
    vec_fini(&p->groups);
    vec_fini(&p->wide);
    vec_fini(&p->bases);
    free(p);
}

/* -- Making plans ----------------------------------------------------------------------------- */

/* A reference as the vector paths compute it: terms a and b (TERM_NONE: zero). */
struct shape {
    u8 a, b, shift;
    bool is_special; /* none of it */
    s64 disp;
};

/* Bring a reference into shape; false if there is none for it. */
static bool shape_of(const struct ref *r, struct shape *out)
{
    *out = (struct shape){.a = r->a, .b = r->b, .shift = r->shift, .disp = r->disp};
    if (r->op != REF_PLAIN || (r->flags & REF_ADDR32) || r->seg == TERM_GS || r->a == TERM_GS ||
        r->b == TERM_GS)
        return false;
    if (r->seg != TERM_NONE) { /* the segment base takes a free place among the terms */
        if (out->a != TERM_NONE && out->b != TERM_NONE)
            return false;
        if (out->a != TERM_NONE)
            out->shift = 0;
        *(out->a == TERM_NONE ? &out->a : &out->b) = r->seg;
    }
    return true;
}

/* The base near an address: a multiple of 2 GB. There are only ever a few. */
static u32 base_near(struct plans *p, u64 address)
{
    u64 base = (address + 0x40000000) & ~0x7fffffffull;
    for (size_t i = 0; i < p->bases.n; i++)
        if (p->bases.v[i] == base)
            return (u32)i;
    vec_push(&p->bases, base);
    return (u32)(p->bases.n - 1);
}

static bool is_absolute(const struct shape *s)
{
    return s->disp != (s32)s->disp;
}

/* Small and full plans have 32 bits for a displacement. Absolute references are taken relative to a base, one for all of an exit. */
static bool find_base(struct plans *p, struct plan *plan, const struct shape *s, u32 refs)
{
    for (u32 k = 0; k < refs; k++) {
        if (!is_absolute(&s[k]))
            continue;
        u32 near = base_near(p, (u64)s[k].disp);
        if (s[k].a != TERM_NONE || (plan->base && plan->base != near))
            return false;
        plan->base = near;
    }
    return true;
}

static s32 disp_of(const struct plans *p, const struct plan *plan, const struct shape *s)
{
    return (s32)(is_absolute(s) ? s->disp - (s64)p->bases.v[plan->base] : s->disp);
}

/* The plan as a small one, if it is: no second terms, no fs, and zero only if no base stands in
 * that lane. */
static bool make_small(const struct plans *p, struct plan *plan, const struct shape *s, u32 refs)
{
    if (plan->slots > SMALL_SLOTS || refs > SMALL_REFS)
        return false;
    for (u32 k = 0; k < refs; k++) {
        bool zero = s[k].a == TERM_NONE && !is_absolute(&s[k]);
        if (s[k].b != TERM_NONE || s[k].a == TERM_FS || (zero && plan->base))
            return false;
        plan->lane[k] = s[k].a == TERM_NONE ? SMALL_BASE : s[k].a == TERM_RSP ? SMALL_RSP : s[k].a;
        plan->disp[k] = disp_of(p, plan, &s[k]);
    }
    plan->kind = PLAN_SMALL;
    return true;
}

/* The lane of a term, where four lanes follow those of the slots. */
static u8 lane_of(u8 term, u8 slots)
{
    return term == TERM_RSP    ? slots + LANE_RSP
           : term == TERM_FS   ? slots + LANE_FS
           : term == TERM_NONE ? slots + LANE_ZERO
                               : term;
}

static bool make_full(struct plans *p, struct plan *plan, const struct shape *s, u32 refs)
{
    if (plan->slots > FULL_SLOTS)
        return false;
    plan->group0 = (u32)p->groups.n;
    for (u32 j = 0; j < refs; j += 8) {
        struct group g = {0};
        for (u32 k = 0; k < 8 && j + k < refs; k++) {
            const struct shape *x = &s[j + k];
            g.a[k] = is_absolute(x) ? FULL_SLOTS + LANE_BASE : lane_of(x->a, FULL_SLOTS);
            g.b[k] = lane_of(x->b, FULL_SLOTS);
            g.shift[k] = x->shift;
            g.disp[k] = disp_of(p, plan, x);
        }
        vec_push(&p->groups, g);
    }
    plan->kind = PLAN_FULL;
    return true;
}

/* Make a term the k-th of these; false if it needs another window. */
static bool add_term(struct terms *t, u32 k, u8 term)
{
    u8 bit = (u8)(1 << k);
    if (term >= TERM_SLOT_LIMIT) {
        t->rsp |= term == TERM_RSP ? bit : 0;
        t->fs |= term == TERM_FS ? bit : 0;
        return true;
    }
    u8 low = term, high = term;
    for (u32 i = 0; i < k && term >= WINDOW; i++)
        if (t->slots >> i & 1 && t->lane[i] >= WINDOW) {
            low = MIN(low, t->lane[i]);
            high = MAX(high, t->lane[i]);
        }
    if (high - low >= WINDOW)
        return false;
    if (term >= WINDOW)
        t->window = low;
    t->slots |= bit;
    t->lane[k] = term; /* relative to the window when the group is whole */
    return true;
}

static void end_terms(struct terms *t)
{
    for (u32 k = 0; k < 8; k++)
        t->lane[k] = t->lane[k] < WINDOW ? t->lane[k] : (u8)(WINDOW + t->lane[k] - t->window);
}

static bool add_shape(struct wide_group *g, const struct shape *s)
{
    struct wide_group with = *g;
    if (g->n == 8 || s->is_special || !add_term(&with.a, g->n, s->a) ||
        !add_term(&with.b, g->n, s->b))
        return false;
    with.shift[g->n] = s->shift;
    with.disp[g->n++] = s->disp;
    with.n = g->n;
    *g = with;
    return true;
}

static void make_wide(struct plans *p, struct plan *plan, const struct ref *r,
                      const struct shape *s, u32 refs)
{
    plan->group0 = (u32)p->wide.n;
    for (u32 j = 0; j < refs;) {
        struct wide_group g = {.ref = j, .special = s[j].is_special};
        if (g.special)
            g.n = r[j].flags & REF_PAIRED ? 2 : 1;
        while (!g.special && j + g.n < refs && add_shape(&g, &s[j + g.n]))
            ;
        end_terms(&g.a);
        end_terms(&g.b);
        j += g.n;
        vec_push(&p->wide, g);
    }
    plan->groups = (u8)(p->wide.n - plan->group0);
    plan->kind = PLAN_WIDE;
}

static bool fits(const struct unit_exit *x)
{
    return x->insns > 0 && x->insns < 256 && x->refs < RECORD_REFS && x->slots <= WIDE_SLOTS &&
           x->rsp_disp == (s32)x->rsp_disp &&
           (x->rsp_term == TERM_RSP || x->rsp_term == TERM_NONE || x->rsp_term < x->slots);
}

void plans_make(struct plans *p, const struct unit_table *t, u32 exit)
{
    const struct unit_exit *x = &t->exits.v[exit];
    const struct ref *r = t->refs.v + t->units.v[x->unit].ref0;
    struct plan *plan = &p->plan[exit + FIRST_EXIT_ID];
    struct shape shape[RECORD_REFS];
    if (plan->kind != PLAN_NONE)
        return;
    *plan = (struct plan){.kind = PLAN_SLOW};
    if (!fits(x))
        return;
    struct plan made = {.kind = PLAN_SLOW,
                        .slots = x->slots,
                        .refs = (u8)x->refs,
                        .rsp_term = x->rsp_term,
                        .insns = (u8)x->insns,
                        .rsp_disp = (s32)x->rsp_disp,
                        .ref0 = t->units.v[x->unit].ref0};
    bool special = false;
    for (u32 j = 0; j < x->refs; j++) {
        if (!shape_of(&r[j], &shape[j])) {
            shape[j].is_special = special = true;
            continue; /* counted when it is given out */
        }
        *(r[j].kind == REF_LOAD    ? &made.loads
          : r[j].kind == REF_STORE ? &made.stores
                                   : &made.modifies) += 1;
    }
    if (special || !find_base(p, &made, shape, x->refs) ||
        (!make_small(p, &made, shape, x->refs) && !make_full(p, &made, shape, x->refs)))
        make_wide(p, &made, r, shape, x->refs);
    *plan = made;
}

/* -- Running them ----------------------------------------------------------------------------- */

#define VECTOR __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,bmi2")))

static inline VECTOR __m512i widen(const u8 bytes[8])
{
    return _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)bytes));
}

static inline VECTOR __m512i widen_disp(const s32 disp[8])
{
    return _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)disp));
}

static inline VECTOR void put(u64 *addr, u32 *ref, __m512i v, u32 ref0)
{
    const __m256i iota = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm512_storeu_si512(addr, v);
    _mm256_storeu_si256((__m256i *)(void *)ref,
                        _mm256_add_epi32(_mm256_set1_epi32((int)ref0), iota));
}

/* The lanes beyond the record's slots hold whatever follows it: nothing refers to them. */
static inline VECTOR void run_small(const struct plan *plan, const u8 *slots, const u64 *base,
                                    u64 rsp, u64 *addr, u32 *ref)
{
    __m512i v = _mm512_loadu_si512(slots);
    v = _mm512_mask_broadcastq_epi64(v, 1 << SMALL_BASE,
                                     _mm_loadl_epi64((const __m128i *)(const void *)base));
    v = _mm512_mask_set1_epi64(v, 1 << SMALL_RSP, (s64)rsp);
    v = _mm512_add_epi64(_mm512_permutexvar_epi64(widen(plan->lane), v), widen_disp(plan->disp));
    put(addr, ref, v, plan->ref0);
}

static VECTOR __attribute__((noinline)) void run_full(const struct plans *p,
                                                      const struct plan *plan, const u8 *slots,
                                                      u64 fs, u64 rsp, u64 *addr, u32 *ref)
{
    __m128i segment = _mm_insert_epi64(_mm_cvtsi64_si128((s64)fs), (s64)rsp, 1);
    __m128i base = _mm_cvtsi64_si128((s64)p->bases.v[plan->base]);
    __m256i carried = _mm256_inserti128_si256(_mm256_castsi128_si256(base), segment, 1);
    __m256i more = _mm256_loadu_si256((const __m256i *)(const void *)(slots + 64));
    __m512i low = _mm512_loadu_si512(slots),
            high = _mm512_inserti64x4(_mm512_castsi256_si512(more), carried, 1);
    const struct group *g = p->groups.v + plan->group0;
    for (u32 j = 0; j < plan->refs; j += 8, g++) {
        __m512i a = _mm512_permutex2var_epi64(low, widen(g->a), high);
        __m512i b = _mm512_permutex2var_epi64(low, widen(g->b), high);
        __m512i v = _mm512_add_epi64(a, _mm512_sllv_epi64(b, widen(g->shift)));
        put(addr + j, ref + j, _mm512_add_epi64(v, widen_disp(g->disp)), plan->ref0 + j);
    }
}

static inline VECTOR __m512i run_terms(const struct terms *t, const u8 *slots, u64 fs, u64 rsp)
{
    __m512i window = _mm512_loadu_si512(slots + 8 * (size_t)t->window);
    __m512i v = _mm512_maskz_permutex2var_epi64(t->slots, _mm512_loadu_si512(slots), widen(t->lane),
                                                window);
    v = _mm512_mask_set1_epi64(v, t->rsp, (s64)rsp);
    return _mm512_mask_set1_epi64(v, t->fs, (s64)fs);
}

/* Returns where the batch's references end then; 0 if a special form does not fit, and the careful path must do the whole record. */
static VECTOR __attribute__((noinline)) u32 run_wide(struct decoder *d, const struct plan *plan,
                                                     const u8 *slots, u64 rsp, struct batch *b,
                                                     u32 n_refs)
{
    const struct wide_group *g = d->plans->wide.v + plan->group0;
    const u64 fs = d->carried.fs, loads = b->loads, stores = b->stores, modifies = b->modifies;
    const u32 n_odd = b->n_odd;
    d->carried.rsp = rsp;
    for (const struct wide_group *end = g + plan->groups; g < end; g++) {
        if (g->special) {
            b->n_refs = n_refs;
            if (!decode_special(d, b, plan->ref0, g->ref, slots) ||
                b->n_refs + RECORD_REFS > BATCH_REFS) {
                b->loads = loads, b->stores = stores, b->modifies = modifies, b->n_odd = n_odd;
                return 0;
            }
            n_refs = b->n_refs;
            continue;
        }
        __m512i v = _mm512_add_epi64(run_terms(&g->a, slots, fs, rsp), _mm512_loadu_si512(g->disp));
        if (g->b.slots | g->b.rsp | g->b.fs)
            v = _mm512_add_epi64(
                v, _mm512_sllv_epi64(run_terms(&g->b, slots, fs, rsp), widen(g->shift)));
        put(b->addr + n_refs, b->ref + n_refs, v, plan->ref0 + g->ref);
        n_refs += g->n;
    }
    return n_refs;
}

/* A record of a plan is at most this long, and its lanes are read this far: away from the end no
 * length needs checking. */
enum { MARGIN = RECORD_SLOTS_AT + 8 * (WIDE_SLOTS + WINDOW) };
/* The records were written by another core: ask for them early. */
enum { PREFETCH = 2048 };

VECTOR size_t plans_run(struct decoder *d, const u8 *data, size_t size, size_t at, struct batch *b)
{
    const struct plans *p = d->plans;
    const struct plan *plans = p->plan;
    const u64 *bases = p->bases.v;
    u64 rsp = d->carried.rsp;
    u32 i = b->n_records, n_refs = b->n_refs;
    u64 counts[2] = {0}; /* insns, loads | stores, modifies: 32 bits each */
    while (at + MARGIN <= size && i < BATCH_RECORDS && n_refs + RECORD_REFS <= BATCH_REFS) {
        u32 header;
        memcpy(&header, data + at, 4);
        u32 id = header >> RECORD_ID_SHIFT, n = header & RECORD_SLOT_LIMIT;
        const struct plan *plan = &plans[id];
        const u8 *slots = data + at + RECORD_SLOTS_AT;
        u32 end = 0;
        __builtin_prefetch(data + at + PREFETCH);
        if (plan->slots != n)
            break; /* damage, or an exit not seen before: the careful path knows */
        if (__builtin_expect(plan->kind == PLAN_SMALL, 1))
            run_small(plan, slots, &bases[plan->base], rsp, b->addr + n_refs, b->ref + n_refs);
        else if (plan->kind == PLAN_FULL)
            run_full(p, plan, slots, d->carried.fs, rsp, b->addr + n_refs, b->ref + n_refs);
        else if (plan->kind != PLAN_WIDE || !(end = run_wide(d, plan, slots, rsp, b, n_refs)))
            break; /* slow, a guest record, or the end */
        b->exit[i] = id;
        b->record_at[i] = (u32)at;
        b->first[i++] = n_refs;
        n_refs = plan->kind == PLAN_WIDE ? end : n_refs + plan->refs;
        if (plan->rsp_term != TERM_RSP) {
            rsp = 0;
            if (plan->rsp_term != TERM_NONE)
                memcpy(&rsp, slots + 8 * (size_t)plan->rsp_term, 8);
        }
        rsp += (u64)(s64)plan->rsp_disp;
        counts[0] += plan->insns + ((u64)plan->loads << 32);
        counts[1] += plan->stores + ((u64)plan->modifies << 32);
        at += RECORD_SLOTS_AT + 8 * (size_t)n;
    }
    b->n_records = i;
    b->n_refs = n_refs;
    b->insns += (u32)counts[0];
    b->loads += counts[0] >> 32;
    b->stores += (u32)counts[1];
    b->modifies += counts[1] >> 32;
    d->carried.rsp = rsp;
    return at;
}
