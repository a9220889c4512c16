/* SPDX-License-Identifier: MIT */
/* Sightings from slots; and allocations from sightings. */
#include "analyze/allocations.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* -- Sightings ---------------------------------------------------------------------------------- */

void sightings_open(struct sightings *s)
{
    s->v.n = s->records.n = 0;
    s->refs = s->insns = s->rsp = 0;
}

void sightings_fini(struct sightings *s)
{
    vec_fini(&s->v);
    vec_fini(&s->records);
    vec_fini(&s->units);
}

static bool has_watches(struct sightings *s, const struct unit_table *t, u32 unit)
{
    vec_reach(&s->units, unit);
    if (!s->units.v[unit]) {
        const struct unit *u = &t->units.v[unit];
        s->units.v[unit] = 2;
        for (u32 i = 0; i < u->n_insns; i++)
            if (t->insns.v[u->insn0 + i].watch)
                s->units.v[unit] = 1;
    }
    return s->units.v[unit] == 1;
}

/* The slots of record i that belong to its unit, and how many there are. */
static const u8 *slots_of(const struct events *e, u32 i, bool partial, u32 *n)
{
    const struct batch *b = e->batch;
    const u8 *slots = e->records + b->record_at[i] + RECORD_SLOTS_AT;
    if (!partial) {
        *n = e->table->exits.v[b->exit[i] - FIRST_EXIT_ID].slots;
        return slots;
    }
    const u32 end = b->record_at[i + 1], most = end > b->record_at[i] ? (end - b->record_at[i]) / 8 : 0;
    *n = most - MIN(most, 2u);
    return slots + 8;
}

/* References of record i that come before its instruction k. */
static u32 refs_before(const struct events *e, u32 i, u32 k)
{
    const struct batch *b = e->batch;
    u32 j = b->first[i];
    for (; j < b->first[i + 1]; j++) {
        u32 id = b->ref[j] & BATCH_ODD ? b->odd[b->ref[j] & ~BATCH_ODD].ref : b->ref[j];
        if (e->table->refs.v[id].insn >= k)
            break;
    }
    return j;
}

/* Instructions from .. to - 1 of record i. */
static void see_record(struct sightings *s, const struct events *e, u32 i, const struct ran *r, u32 from,
                       u32 to)
{
    const struct unit_insn *in = &e->table->insns.v[e->table->units.v[r->unit].insn0];
    u32 n;
    const u8 *slots = slots_of(e, i, r->partial, &n);
    for (u32 k = from; k < to; k++) {
        const u32 width = watch_slots(in[k].watch);
        if (!in[k].watch || in[k].slot + width > n)
            continue;
        struct sighting x = {.refs = s->refs + refs_before(e, i, k), .insns = s->insns + k, .kind = in[k].watch};
        memcpy(x.value, slots + 8 * (size_t)in[k].slot, 8 * (size_t)width);
        vec_push(&s->v, x);
    }
}

static void see_guest_record(struct sightings *s, const struct events *e, u32 i, struct carried *now)
{
    u64 value[3];
    memcpy(value, e->records + e->batch->record_at[i] + RECORD_SLOTS_AT, 16);
    if (e->batch->exit[i] == RECORD_syscall && value[0] == SYS_brk)
        vec_push(&s->v, ((struct sighting){.refs = s->refs + e->batch->first[i],
                                           .insns = s->insns,
                                           .kind = SIGHTING_brk,
                                           .value = {value[1]}}));
    if (e->batch->exit[i] != RECORD_state)
        return;
    now->rsp = value[0];
    s->rsp = s->rsp ? s->rsp : value[0];
}

/* The stack pointer behind record i. */
static u64 carry(const struct events *e, u32 i, struct carried *c, const struct ran *r)
{
    u32 n;
    const u8 *slots = slots_of(e, i, r->partial, &n);
    if (!r->partial)
        return carried_rsp(c, &e->table->exits.v[e->batch->exit[i] - FIRST_EXIT_ID], slots);
    u64 rsp;
    memcpy(&rsp, slots + 8 * (size_t)n, 8);
    return rsp;
}

void sightings_add(struct sightings *s, const struct events *e)
{
    const struct batch *b = e->batch;
    struct carried now = b->carried;
    if (!s->rsp && b->carried.known)
        s->rsp = b->carried.rsp;
    for (u32 i = 0; i < b->n_records; i++) {
        const bool begun = e->continues && i == 0, goes_on = e->unfinished && i + 1 == b->n_records;
        struct ran r;
        if (b->exit[i] == RECORD_syscall || b->exit[i] == RECORD_state)
            see_guest_record(s, e, i, &now);
        if (!events_ran(e, i, &r))
            continue;
        if (b->first[i] < b->first[i + 1] && (!s->records.n || s->records.v[s->records.n - 1].rsp != now.rsp))
            vec_push(&s->records,
                     ((struct beginning){(u32)s->refs + b->first[i], (u32)s->insns, now.rsp}));
        if (has_watches(s, e->table, r.unit))
            see_record(s, e, i, &r, begun ? e->shown : 0, goes_on ? MIN(events_shown(e), r.insns) : r.insns);
        if (goes_on)
            break;
        s->insns += r.insns;
        now.rsp = carry(e, i, &now, &r);
    }
    s->refs += b->n_refs;
}

/* -- Allocations -------------------------------------------------------------------------------- */

/* Where the stack pointer and the return address stand among the values of a call. */
static u64 rsp_of(const struct sighting *s)
{
    return s->value[watch_slots(s->kind) - (s->kind == WATCH_result || s->kind == WATCH_inner ? 1 : 2)];
}

static u64 site_of(const struct sighting *s)
{
    return s->value[watch_slots(s->kind) - 1];
}

static u64 size_of(const struct sighting *s)
{
    const u64 *v = s->value;
    switch (s->kind) {
    case WATCH_malloc:
        return v[0];
    case WATCH_calloc:
        return v[0] * v[1];
    case WATCH_aligned:
    case WATCH_realloc:
    case WATCH_mmap:
        return v[1];
    case WATCH_reallocarray:
        return v[1] * v[2];
    default: /* posix_memalign, mremap */
        return v[2];
    }
}

static u64 whole_pages(u64 size)
{
    return ALIGN_UP(size, 4096ul);
}

/* The call has returned this. */
static struct allocation done(const struct sighting *c, u64 result, u64 inner)
{
    const bool maps = c->kind == WATCH_mmap || c->kind == WATCH_mremap;
    struct allocation x = {.kind = maps ? ALLOCATION_mapping : ALLOCATION_block, .site = site_of(c)};
    if (c->kind == WATCH_posix_memalign)
        result = result ? 0 : inner;
    if (!result || (maps && result > (u64)-4096))
        return (struct allocation){0};
    x.start = result;
    x.end = result + (maps ? whole_pages(size_of(c)) : size_of(c));
    if (c->kind == WATCH_realloc || c->kind == WATCH_reallocarray || c->kind == WATCH_mremap)
        x.old = c->value[0];
    x.old_end = x.old + (c->kind == WATCH_mremap ? whole_pages(c->value[1]) : 0);
    x.old_is_mapping = c->kind == WATCH_mremap;
    return x;
}

static bool frees(const struct sighting *s)
{
    return s->kind == WATCH_free || s->kind == WATCH_munmap;
}

/* What is deeper in the stack is part of a call, or took its place by a jump, and will return to the same place. A call that never returned, by an
 * exception or a longjmp, ends when the stack is back above it. */
static bool is_within(const struct sighting *call, const struct sighting *s)
{
    const u64 far = 1 << 20;
    if (!call->kind)
        return false;
    const u64 outer = rsp_of(call), inner = rsp_of(s);
    if (inner == outer)
        return call->kind != s->kind && site_of(call) == site_of(s) && !frees(s);
    return inner < outer && outer - inner < far;
}

static struct allocation enter(struct allocating *a, const struct sighting *s)
{
    if (is_within(&a->call, s))
        return (struct allocation){0};
    a->call.kind = 0;
    if (s->kind == WATCH_free)
        return (struct allocation){.kind = ALLOCATION_free, .start = s->value[0]};
    if (s->kind == WATCH_munmap)
        return (struct allocation){
            .kind = ALLOCATION_unmap, .start = s->value[0], .end = s->value[0] + whole_pages(s->value[1])};
    a->call = *s;
    a->inner = 0;
    return (struct allocation){0};
}

struct allocation allocating_see(struct allocating *a, const struct sighting *s)
{
    const bool leaves = s->kind == WATCH_result || s->kind == WATCH_leave;
    if (!leaves && s->kind != WATCH_inner)
        return enter(a, s);
    if (s->kind == WATCH_inner && a->call.kind == WATCH_posix_memalign && s->value[0])
        a->inner = s->value[0];
    if (!leaves || !a->call.kind || rsp_of(s) < rsp_of(&a->call) ||
        (s->kind == WATCH_leave && a->call.kind != WATCH_calloc))
        return (struct allocation){0};
    struct sighting call = a->call;
    a->call.kind = 0;
    return rsp_of(s) == rsp_of(&call) ? done(&call, s->value[0], a->inner) : (struct allocation){0};
}
