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
    struct plan *plan; /* by exit; address space for all there can ever be */
    VEC(struct group) more;
    VEC(u64) bases; /* by exit: what its absolute references are relative to; see base_of */
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

static void make_plan(struct plans *p, const struct unit_table *t, u32 exit)
{
    const struct unit_exit *x = &t->exits.v[exit];
    struct plan plan = {.kind = PLAN_SLOW};
    u32 ref0 = t->units.v[x->unit].ref0;
    if (p->bases.n == 0)
        vec_push(&p->bases, 0);
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
    p->plan[exit] = plan;
}

/* -- Running them ----------------------------------------------------------------------------- */

#define VECTOR __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,bmi2")))

static inline VECTOR void put_group(const struct group *g, __m512i low, __m512i high, __m256i ids, u64 *addr, u32 *ref)
{
    const __m512i nibbles = _mm512_setr_epi64(0, 4, 8, 12, 16, 20, 24, 28);
    const __m512i pairs = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    __m512i a = _mm512_srlv_epi64(_mm512_set1_epi64(g->a), nibbles);
    __m512i b = _mm512_srlv_epi64(_mm512_set1_epi64(g->b), nibbles);
    __m512i s = _mm512_and_si512(_mm512_srlv_epi64(_mm512_set1_epi64(g->shift), pairs), _mm512_set1_epi64(3));
    __m512i disp = _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)g->disp));
    __m512i v = _mm512_add_epi64(_mm512_permutex2var_epi64(low, a, high), disp);
    __m512i w = _mm512_sllv_epi64(_mm512_permutex2var_epi64(low, b, high), s);
    _mm512_storeu_si512(addr, _mm512_add_epi64(v, w));
    _mm256_storeu_si256((__m256i *)(void *)ref, ids);
}

/* The groups beyond the first, for the few exits that have them. */
static VECTOR __attribute__((noinline)) void put_more(const struct plans *p, const struct plan *plan, __m512i low,
                                                       __m512i high, __m256i ids, u64 *addr, u32 *ref)
{
    const struct group *g = p->more.v + plan->more;
    for (u32 j = 8; j < plan->refs; j += 8, g++) {
        ids = _mm256_add_epi32(ids, _mm256_set1_epi32(8));
        put_group(g, low, high, ids, addr + j, ref + j);
    }
}

VECTOR size_t plans_run(struct decoder *d, const u8 *data, size_t size, size_t at, struct batch *b)
{
    const struct unit_table *t = d->table;
    struct plans *p = d->plans;
    u64 n_exits = t->exits.n, rsp = d->carried.rsp;
    u64 counts = 0, insns = 0; /* counts: loads, stores, modifies in 21 bits each: a batch cannot overflow them */
    u32 i = b->n_records, n_refs = b->n_refs;
    const __m512i segments = _mm512_mask_set1_epi64(_mm512_setzero_si512(), 1 << (LANE_FS - 8), (s64)d->carried.fs);
    const __m256i iota = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    while (at + RECORD_SLOTS_AT <= size && i < BATCH_RECORDS) {
        u32 header;
        memcpy(&header, data + at, 4);
        u32 exit = (header >> RECORD_ID_SHIFT) - FIRST_EXIT_ID, n = header & RECORD_SLOT_LIMIT;
        size_t length = RECORD_SLOTS_AT + 8 * (size_t)n;
        if (exit >= n_exits || length > size - at)
            break; /* a guest record, the end, or damage: the careful path knows */
        const struct plan *plan = &p->plan[exit];
        if (plan->kind == PLAN_NONE)
            make_plan(p, t, exit);
        if (plan->kind != PLAN_FAST || plan->slots != n || n_refs + plan->refs > BATCH_REFS)
            break;
        const u8 *slots = data + at + RECORD_SLOTS_AT;
        u32 present = (1u << n) - 1;
        __m512i high = _mm512_mask_set1_epi64(segments, 1 << (LANE_RSP - 8), (s64)rsp);
        high = _mm512_mask_set1_epi64(high, 1 << (LANE_BASE - 8), (s64)p->bases.v[plan->group.pad]);
        high = _mm512_mask_loadu_epi64(high, (__mmask8)(present >> 8), slots + 64);
        __m512i low = _mm512_maskz_loadu_epi64((__mmask8)present, slots);
        __m256i ids = _mm256_add_epi32(_mm256_set1_epi32((int)plan->ref0), iota);
        put_group(&plan->group, low, high, ids, b->addr + n_refs, b->ref + n_refs);
        if (plan->refs > 8)
            put_more(p, plan, low, high, ids, b->addr + n_refs, b->ref + n_refs);
        b->exit[i] = exit + FIRST_EXIT_ID;
        b->record_at[i] = (u32)at;
        b->first[i++] = n_refs;
        n_refs += plan->refs;
        if (plan->rsp_term != TERM_RSP) {
            rsp = 0;
            if (plan->rsp_term != TERM_NONE)
                memcpy(&rsp, slots + 8 * (size_t)plan->rsp_term, 8);
        }
        rsp += (u64)(s64)plan->rsp_disp;
        insns += plan->insns;
        counts += plan->loads + ((u64)plan->stores << 21) + ((u64)plan->modifies << 42);
        at += length;
    }
    b->n_records = i;
    b->n_refs = n_refs;
    b->insns += insns;
    b->loads += counts & 0x1fffff;
    b->stores += counts >> 21 & 0x1fffff;
    b->modifies += counts >> 42;
    d->carried.rsp = rsp;
    return at;
}
