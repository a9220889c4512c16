/* SPDX-License-Identifier: MIT */
/* Eight addresses at a time with AVX-512: a record's slots become the lanes of two vectors, beside them a constant base, fs and
 * rsp; permute by the terms of the exit's references, shift, add their displacements, store.
 *
 * The walk from record to record never waits for a table, since a record's length is in its header; and what a record
 * needs from the tables is one cache line, its plan, as long as it has no more than eight references. Measured on perl:
 * a first form with a plan, a group of 96 bytes and branches around every optional step took 8.3 ns a record. */
#include "decode/plan.h"
#include "wire/wire.h"

#include <immintrin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LANE_SLOTS = 12, LANE_BASE = 12, LANE_ZERO = 13, LANE_FS = 14, LANE_RSP = 15 };
enum { PLAN_NONE, PLAN_FAST, PLAN_SLOW };

/* Eight references: address = lane[a] + (lane[b] << shift) + disp; lanes as nibbles, shifts as pairs of bits. */
struct group {
    u32 a, b;
    u16 shift, pad;
    s32 disp[8];
};

struct plan {
    u8 kind, slots, refs, rsp_term;
    u8 insns, loads, stores, modifies;
    s32 rsp_disp;
    u32 ref0;
    u32 more; /* first of the further groups, for more than eight references */
    struct group group;
};
_Static_assert(sizeof(struct plan) == 64, "a plan is a cache line");

struct plans {
    struct plan *plan; /* by id on the wire; address space for all there can ever be */
    VEC(struct group) more;
    VEC(u64) bases; /* what absolute references are relative to: see base_of */
};

static const size_t plan_bytes = (size_t)EXIT_ID_LIMIT * sizeof(struct plan);

struct plans *plans_new(void)
{
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq"))
        return NULL;
    struct plans *p = calloc(1, sizeof *p);
    check(p != NULL);
    p->plan = mmap(NULL, plan_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(p->plan != MAP_FAILED);
    vec_push(&p->bases, 0);
    return p;
}

void plans_free(struct plans *p)
{
    if (!p)
        return;
    munmap(p->plan, plan_bytes);
    vec_fini(&p->more);
    vec_fini(&p->bases);
    free(p);
}

/* -- Making plans ----------------------------------------------------------------------------- */

/* Bases are few: multiples of 2 GB. Which one a plan uses is kept in the pad of its group. */
static bool base_of(struct plans *p, u64 address, u16 *index)
{
    u64 base = (address + 0x40000000) & ~0x7fffffffull;
    for (size_t i = 0; i < p->bases.n; i++)
        if (p->bases.v[i] == base)
            return *index = (u16)i, true;
    if (p->bases.n == 0xffff)
        return false;
    vec_push(&p->bases, base);
    *index = (u16)(p->bases.n - 1);
    return true;
}

static bool lane_of(u8 term, u32 *lane)
{
    *lane = term == TERM_RSP ? LANE_RSP : term == TERM_FS ? LANE_FS : term == TERM_NONE ? LANE_ZERO : term;
    return term < LANE_SLOTS || term == TERM_RSP || term == TERM_FS || term == TERM_NONE;
}

/* Put a reference into its place of a group; false if the vector path has no form for it. `base` is the index of the base
 * that earlier references of the exit agreed on, or -1. */
static bool add_ref(struct plans *p, struct group *g, u32 k, const struct ref *r, s32 *base)
{
    u8 a = r->a, b = r->b, shift = r->shift;
    u32 la, lb;
    s64 disp = r->disp;
    if (r->op != REF_PLAIN || (r->flags & REF_ADDR32) || shift > 3)
        return false;
    if (r->seg != TERM_NONE) { /* the segment base takes a free place among the terms */
        if (a != TERM_NONE && b != TERM_NONE)
            return false;
        if (a != TERM_NONE)
            shift = 0;
        *(a == TERM_NONE ? &a : &b) = r->seg;
    }
    if (!lane_of(a, &la) || !lane_of(b, &lb))
        return false;
    if (disp != (s32)disp) { /* an absolute address, or a large constant: relative to a base in a lane of its own */
        u16 i;
        if ((la != LANE_ZERO && lb != LANE_ZERO) || !base_of(p, (u64)disp, &i) || (*base >= 0 && *base != i))
            return false;
        *base = i;
        disp -= (s64)p->bases.v[i];
        if (la == LANE_ZERO)
            la = LANE_BASE;
        else
            lb = LANE_BASE, shift = 0;
        if (disp != (s32)disp)
            return false;
    }
    g->a |= la << (4 * k);
    g->b |= lb << (4 * k);
    g->shift |= (u16)(shift << (2 * k));
    g->disp[k] = (s32)disp;
    return true;
}

static bool fits(const struct unit_exit *x)
{
    return x->insns > 0 && x->insns < 256 && x->refs < 256 && x->slots <= LANE_SLOTS && x->rsp_disp == (s32)x->rsp_disp &&
           (x->rsp_term == TERM_RSP || x->rsp_term == TERM_NONE || x->rsp_term < LANE_SLOTS);
}

/* Fill the groups of an exit; the first is in the plan, the others follow one another. */
static bool make_groups(struct plans *p, struct plan *plan, const struct ref *r, u32 refs)
{
    s32 base = -1;
    size_t more = p->more.n;
    for (u32 j = 0; j < refs; j += 8) {
        struct group g = {0};
        for (u32 k = 0; k < 8 && j + k < refs; k++)
            if (!add_ref(p, &g, k, &r[j + k], &base)) {
                p->more.n = more;
                return false;
            }
        if (j == 0)
            plan->group = g;
        else
            vec_push(&p->more, g);
    }
    plan->more = (u32)more;
    plan->group.pad = base >= 0 ? (u16)base : 0;
    return true;
}

void plans_make(struct plans *p, const struct unit_table *t, u32 exit)
{
    const struct unit_exit *x = &t->exits.v[exit];
    struct plan plan = {.kind = PLAN_SLOW};
    u32 ref0 = t->units.v[x->unit].ref0;
    if (p->plan[exit + FIRST_EXIT_ID].kind != PLAN_NONE)
        return;
    if (fits(x) && make_groups(p, &plan, t->refs.v + ref0, x->refs)) {
        plan.kind = PLAN_FAST;
        plan.slots = x->slots;
        plan.refs = (u8)x->refs;
        plan.rsp_term = x->rsp_term;
        plan.insns = (u8)x->insns;
        plan.rsp_disp = (s32)x->rsp_disp;
        plan.ref0 = ref0;
        for (u32 j = 0; j < x->refs; j++) {
            u8 kind = t->refs.v[ref0 + j].kind;
            *(kind == REF_LOAD ? &plan.loads : kind == REF_STORE ? &plan.stores : &plan.modifies) += 1;
        }
    }
    p->plan[exit + FIRST_EXIT_ID] = plan;
}

/* -- Running them ----------------------------------------------------------------------------- */

#define VECTOR __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,bmi2")))

/* The vectors of one record: slots 0-7, and slots 8-11, base, zero, fs, rsp. Lanes without a slot hold whatever follows the
 * record: nothing refers to them. */
struct lanes {
    __m512i low, high;
};

static inline VECTOR struct lanes load_lanes(const u8 *slots, u64 base, u64 fs, u64 rsp)
{
    __m128i segment = _mm_insert_epi64(_mm_cvtsi64_si128((s64)fs), (s64)rsp, 1);
    __m256i carried = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_cvtsi64_si128((s64)base)), segment, 1);
    __m256i more = _mm256_loadu_si256((const __m256i *)(const void *)(slots + 64));
    return (struct lanes){.low = _mm512_loadu_si512(slots),
                          .high = _mm512_inserti64x4(_mm512_castsi256_si512(more), carried, 1)};
}

static inline VECTOR void put_group(const struct group *g, const struct lanes *l, u32 ref0, u64 *addr, u32 *ref)
{
    const __m512i nibbles = _mm512_setr_epi64(0, 4, 8, 12, 16, 20, 24, 28);
    const __m512i pairs = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const __m256i iota = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    u64 terms;
    memcpy(&terms, &g->a, 8);
    __m512i t = _mm512_set1_epi64((s64)terms);
    __m512i a = _mm512_srlv_epi64(t, nibbles);
    __m512i b = _mm512_srlv_epi64(t, _mm512_add_epi64(nibbles, _mm512_set1_epi64(32)));
    __m512i s = _mm512_and_si512(_mm512_srlv_epi64(_mm512_set1_epi64(g->shift), pairs), _mm512_set1_epi64(3));
    __m512i disp = _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)g->disp));
    __m512i v = _mm512_add_epi64(_mm512_permutex2var_epi64(l->low, a, l->high), disp);
    __m512i w = _mm512_sllv_epi64(_mm512_permutex2var_epi64(l->low, b, l->high), s);
    _mm512_storeu_si512(addr, _mm512_add_epi64(v, w));
    _mm256_storeu_si256((__m256i *)(void *)ref, _mm256_add_epi32(_mm256_set1_epi32((int)ref0), iota));
}

/* A fast record is at most this long, so that far from the end no length needs checking. */
enum { FAST_MARGIN = RECORD_SLOTS_AT + 8 * LANE_SLOTS + 64 };

VECTOR size_t plans_run(struct decoder *d, const u8 *data, size_t size, size_t at, struct batch *b)
{
    struct plans *p = d->plans;
    const struct plan *plans = p->plan;
    const struct group *more = p->more.v;
    const u64 *bases = p->bases.v, fs = d->carried.fs;
    u64 rsp = d->carried.rsp;
    u32 i = b->n_records, n_refs = b->n_refs;
    __m128i counts = _mm_setzero_si128(); /* insns, loads, stores, modifies */
    while (at + FAST_MARGIN <= size && i < BATCH_RECORDS && n_refs + 256 <= BATCH_REFS) {
        u32 header;
        memcpy(&header, data + at, 4);
        u32 id = header >> RECORD_ID_SHIFT, n = header & RECORD_SLOT_LIMIT;
        const struct plan *plan = &plans[id];
        if (plan->kind != PLAN_FAST || plan->slots != n)
            break; /* a guest record, the end, damage, or an exit not seen before: the careful path knows */
        const u8 *slots = data + at + RECORD_SLOTS_AT;
        struct lanes lanes = load_lanes(slots, bases[plan->group.pad], fs, rsp);
        const struct group *g = &plan->group;
        u32 j = 0;
        do {
            put_group(g, &lanes, plan->ref0 + j, b->addr + n_refs + j, b->ref + n_refs + j);
            g = more + plan->more + j / 8;
            j += 8;
        } while (j < plan->refs);
        b->exit[i] = id;
        b->record_at[i] = (u32)at;
        b->first[i++] = n_refs;
        n_refs += plan->refs;
        if (plan->rsp_term != TERM_RSP) {
            rsp = 0;
            if (plan->rsp_term != TERM_NONE)
                memcpy(&rsp, slots + 8 * (size_t)plan->rsp_term, 8);
        }
        rsp += (u64)(s64)plan->rsp_disp;
        counts = _mm_add_epi32(counts, _mm_cvtepu8_epi32(_mm_loadu_si32(&plan->insns)));
        at += RECORD_SLOTS_AT + 8 * (size_t)n;
    }
    b->n_records = i;
    b->n_refs = n_refs;
    b->insns += (u32)_mm_extract_epi32(counts, 0);
    b->loads += (u32)_mm_extract_epi32(counts, 1);
    b->stores += (u32)_mm_extract_epi32(counts, 2);
    b->modifies += (u32)_mm_extract_epi32(counts, 3);
    d->carried.rsp = rsp;
    return at;
}
