/* SPDX-License-Identifier: MIT */
/* Eight addresses at a time with AVX-512: load a record's slots into lanes, put fs and rsp beside them, permute by the
 * group's terms, shift, add its constants, store. The walk from record to record never waits for a table: a record's
 * length is in its header. */
#include "decode/plan.h"
#include "wire/wire.h"

#include <immintrin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LANE_SLOTS = 14, LANE_FS = 14, LANE_RSP = 15 };

struct plans {
    struct plan *plan;  /* by exit; address space for all there can ever be */
    u32 *unit_group;    /* by unit: first group + 1, 0 if not made */
    u16 *unit_fast;     /* by unit: how many leading references are fast */
    VEC(struct group) groups;
};

static const size_t plan_bytes = (size_t)EXIT_ID_LIMIT * sizeof(struct plan);
static const size_t unit_bytes = (size_t)EXIT_ID_LIMIT * sizeof(u32);

static void *reserve(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

struct plans *plans_new(void)
{
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq"))
        return NULL;
    struct plans *p = calloc(1, sizeof *p);
    check(p != NULL);
    p->plan = reserve(plan_bytes);
    p->unit_group = reserve(unit_bytes);
    p->unit_fast = reserve(unit_bytes / 2);
    check(p->plan && p->unit_group && p->unit_fast);
    return p;
}

void plans_free(struct plans *p)
{
    if (!p)
        return;
    munmap(p->plan, plan_bytes);
    munmap(p->unit_group, unit_bytes);
    munmap(p->unit_fast, unit_bytes / 2);
    vec_fini(&p->groups);
    free(p);
}

/* -- Making plans ----------------------------------------------------------------------------- */

/* The lane of a term; false if the vector path has none for it. */
static bool lane_of(u8 term, u8 *lane)
{
    if (term < LANE_SLOTS) {
        *lane = term;
        return true;
    }
    *lane = term == TERM_RSP ? LANE_RSP : LANE_FS;
    return term == TERM_RSP || term == TERM_FS;
}

/* Put a reference into its place of a group; false if it is not fast. */
static bool add_ref(struct group *g, u32 k, const struct ref *r)
{
    u8 a = r->a, b = r->b, lane = 0, shift = r->shift;
    if (r->op != REF_PLAIN || (r->flags & REF_ADDR32))
        return false;
    if (r->seg != TERM_NONE) { /* the segment base takes a free place among the terms */
        if (a == TERM_NONE)
            a = r->seg;
        else if (b == TERM_NONE)
            b = r->seg, shift = 0;
        else
            return false;
    }
    if (a != TERM_NONE) {
        if (!lane_of(a, &lane))
            return false;
        g->a[k] = lane;
        g->a_used |= (u8)(1 << k);
    }
    if (b != TERM_NONE) {
        if (!lane_of(b, &lane))
            return false;
        g->b[k] = lane;
        g->b_used |= (u8)(1 << k);
    }
    g->shift[k] = shift;
    g->disp[k] = r->disp;
    return true;
}

static void make_groups(struct plans *p, const struct unit_table *t, u32 unit)
{
    const struct unit *u = &t->units.v[unit];
    const struct ref *r = t->refs.v + u->ref0;
    u32 fast = 0;
    p->unit_group[unit] = (u32)p->groups.n + 1;
    for (u32 j = 0; j < u->n_refs; j += 8) {
        struct group g = {0};
        u32 k = 0;
        while (k < 8 && j + k < u->n_refs && add_ref(&g, k, &r[j + k]))
            k++;
        vec_push(&p->groups, g);
        fast = j + k;
        if (k < 8)
            break;
    }
    p->unit_fast[unit] = (u16)MIN(fast, u->n_refs);
}

static void make_plan(struct plans *p, const struct unit_table *t, u32 exit)
{
    const struct unit_exit *x = &t->exits.v[exit];
    struct plan *plan = &p->plan[exit];
    if (!p->unit_group[x->unit])
        make_groups(p, t, x->unit);
    u32 ref0 = t->units.v[x->unit].ref0;
    *plan = (struct plan){.slots = x->slots, .rsp_term = x->rsp_term, .refs = x->refs, .insns = x->insns,
                          .ref0 = ref0, .group0 = p->unit_group[x->unit] - 1, .rsp_disp = x->rsp_disp};
    for (u32 j = 0; j < x->refs; j++) {
        u8 kind = t->refs.v[ref0 + j].kind;
        *(kind == REF_LOAD ? &plan->loads : kind == REF_STORE ? &plan->stores : &plan->modifies) += 1;
    }
    bool fast = x->refs <= p->unit_fast[x->unit] && x->slots <= LANE_SLOTS && x->insns > 0;
    plan->kind = fast ? PLAN_FAST : PLAN_SLOW;
}

const struct plan *plans_get(struct plans *p, const struct unit_table *t, u32 exit)
{
    if (p->plan[exit].kind == PLAN_NONE)
        make_plan(p, t, exit);
    return &p->plan[exit];
}

/* -- Running them ----------------------------------------------------------------------------- */

#define VECTOR __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))

static inline VECTOR void put_groups(const struct group *g, const struct plan *plan, __m512i low, __m512i high,
                                     struct batch *b)
{
    __m256i ids = _mm256_add_epi32(_mm256_set1_epi32((int)plan->ref0), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    u64 *addr = b->addr + b->n_refs;
    u32 *ref = b->ref + b->n_refs;
    for (u32 j = 0; j < plan->refs; j += 8, g++) {
        __m512i a = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)g->a));
        __m512i v = _mm512_maskz_permutex2var_epi64(g->a_used, low, a, high);
        if (g->b_used) {
            __m512i i = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)g->b));
            __m512i s = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)g->shift));
            __m512i w = _mm512_maskz_permutex2var_epi64(g->b_used, low, i, high);
            v = _mm512_add_epi64(v, _mm512_sllv_epi64(w, s));
        }
        v = _mm512_add_epi64(v, _mm512_loadu_si512(g->disp));
        _mm512_storeu_si512(addr + j, v);
        _mm256_storeu_si256((__m256i *)(void *)(ref + j), ids);
        ids = _mm256_add_epi32(ids, _mm256_set1_epi32(8));
    }
    b->n_refs += plan->refs;
}

VECTOR size_t plans_run(struct decoder *d, const u8 *data, size_t size, size_t at, struct batch *b)
{
    const struct unit_table *t = d->table;
    struct plans *p = d->plans;
    u64 n_exits = t->exits.n, rsp = d->carried.rsp;
    u64 insns = 0, loads = 0, stores = 0, modifies = 0;
    u32 i = b->n_records;
    const __m512i segments = _mm512_mask_set1_epi64(_mm512_setzero_si512(), 1 << (LANE_FS - 8), (s64)d->carried.fs);
    while (at + RECORD_SLOTS_AT <= size && i < BATCH_RECORDS) {
        u32 header;
        memcpy(&header, data + at, 4);
        u32 exit = (header >> RECORD_ID_SHIFT) - FIRST_EXIT_ID, n = header & RECORD_SLOT_LIMIT;
        size_t length = RECORD_SLOTS_AT + 8 * (size_t)n;
        if (exit >= n_exits || length > size - at)
            break; /* a guest record, the end, or damage: the careful path knows */
        const struct plan *plan = &p->plan[exit];
        if (plan->kind != PLAN_FAST && (plan->kind == PLAN_SLOW || plans_get(p, t, exit)->kind != PLAN_FAST))
            break;
        if (plan->slots != n || b->n_refs + plan->refs > BATCH_REFS)
            break;
        const u8 *slots = data + at + RECORD_SLOTS_AT;
        b->exit[i] = exit + FIRST_EXIT_ID;
        b->record_at[i] = (u32)at;
        b->first[i++] = b->n_refs;
        if (plan->refs) {
            __m512i low = _mm512_maskz_loadu_epi64((__mmask8)((1u << MIN(n, 8)) - 1), slots);
            __m512i high = _mm512_mask_set1_epi64(segments, 1 << (LANE_RSP - 8), (s64)rsp);
            if (n > 8)
                high = _mm512_mask_loadu_epi64(high, (__mmask8)((1u << (n - 8)) - 1), slots + 64);
            put_groups(p->groups.v + plan->group0, plan, low, high, b);
        }
        if (plan->rsp_term != TERM_RSP) {
            rsp = 0;
            if (plan->rsp_term < TERM_SLOT_LIMIT)
                memcpy(&rsp, slots + 8 * (size_t)plan->rsp_term, 8);
        }
        rsp += (u64)plan->rsp_disp;
        insns += plan->insns;
        loads += plan->loads;
        stores += plan->stores;
        modifies += plan->modifies;
        at += length;
    }
    b->n_records = i;
    b->insns += insns;
    b->loads += loads;
    b->stores += stores;
    b->modifies += modifies;
    d->carried.rsp = rsp;
    return at;
}
