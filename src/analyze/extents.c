/* SPDX-License-Identifier: MIT */
/* From batches to extents. */
#include "analyze/extents.h"
#include "analyze/passes.h"
#include "base/err.h"

#include <stdlib.h>

void extents_init(struct extents *s, u32 parts)
{
    *s = (struct extents){.n_parts = parts, .parts = calloc(parts, sizeof *s->parts)};
    check(s->parts != NULL);
}

void extents_fini(struct extents *s)
{
    for (u32 k = 0; k < s->n_parts; k++) {
        vec_fini(&s->parts[k].list);
        vec_fini(&s->parts[k].found);
    }
    free(s->parts);
    vec_fini(&s->crossings);
    vec_fini(&s->pieces);
}

void extents_empty(struct extents *s)
{
    for (u32 k = 0; k < s->n_parts; k++)
        s->parts[k].list.n = s->parts[k].found.n = 0;
    s->crossings.n = s->pieces.n = 0;
    s->insns = 0;
}

static u64 page_of(u64 address)
{
    return address >> SHADOW_LOG2;
}

/* Pages are dealt out as if at random: neighbours are often used alike. */
static u32 part_of(const struct extents *s, u64 page)
{
    u64 random = page * 0x9e3779b97f4a7c15 >> 32;
    return (u32)(random * s->n_parts >> 32);
}

static u64 distance(u64 a, u64 b)
{
    return a > b ? a - b : b - a;
}

/* Room for a extent that begins here. */
static inline struct extent *new_extent(struct extents *s, u64 address)
{
    return vec_grow(&s->parts[part_of(s, page_of(address))].list, 1);
}

/* -- References --------------------------------------------------------------------------------- */

/* The bytes of [address, address + size) in its first page. */
static u32 in_page(u64 address, u32 size)
{
    return MIN(size, SHADOW_PAGE - (u32)(address % SHADOW_PAGE));
}

static void put_piece(struct extents *s, struct extent x)
{
    if (x.flags != REF_STORE) {
        vec_push(&s->pieces,
                 ((struct piece){.ref = x.ref, .part = part_of(s, page_of(x.address))}));
        x.ref = (u32)s->pieces.n - 1;
        x.flags |= EXTENT_PIECE;
    }
    *new_extent(s, x.address) = x;
}

static void put_crossing(struct extents *s, struct extent x, u32 size)
{
    struct crossing c = {.time = x.time, .ref = x.ref, .first = (u32)s->pieces.n};
    for (; size; size -= x.bytes, x.address += x.bytes) {
        x.bytes = (u16)in_page(x.address, size);
        put_piece(s, x);
    }
    c.n = (u32)s->pieces.n - c.first;
    if (c.n)
        vec_push(&s->crossings, c);
}

/* All of x but the bytes is known. */
static inline void put_ref(struct extents *s, struct extent x, u32 size)
{
    if (__builtin_expect(in_page(x.address, size) < size, 0)) {
        put_crossing(s, x, size);
        return;
    }
    x.bytes = (u16)size;
    *new_extent(s, x.address) = x;
}

/* -- rep ---------------------------------------------------------------------------------------- */

enum { RUN_ELEMENT = UINT8_MAX }; /* no string has such wide elements */

/* References of one instruction, each beside the one before it, in one page. */
struct run {
    u64 first;
    u32 n;
    bool down;
};

/* The longest that the references j, j + stride, .. before `end` begin with. */
static struct run run_at(const struct batch *b, u32 j, u32 end, u32 stride, u32 size)
{
    struct run r = {.first = b->addr[j], .n = 1};
    const u64 page = page_of(r.first);
    r.down = j + stride < end && b->addr[j + stride] < r.first;
    const u64 step = r.down ? 0 - (u64)size : size;
    if (page_of(r.first + size - 1) != page || size > RUN_ELEMENT)
        return r;
    for (u32 k = j + stride; k < end && b->ref[k] == b->ref[j]; k += stride, r.n++)
        if (b->addr[k] != b->addr[k - stride] + step || page_of(b->addr[k]) != page ||
            page_of(b->addr[k] + size - 1) != page)
            break;
    return r;
}

/* What a rep instruction does from reference j on, as far as it makes extents; how many references that were. Those of a pair take
 * turns. As long as no load comes to what was stored since the first of them, it is the same if all loads come first. */
static u32 put_rep(struct extents *s, const struct events *e, u32 j, u32 end, u64 time)
{
    const struct batch *b = e->batch;
    const struct ref *r = &e->table->refs.v[b->ref[j]];
    const u32 stride = r->flags & REF_PAIRED && j + 1 < end ? 2 : 1;
    struct run run[2];
    u32 n = UINT32_MAX;
    for (u32 k = 0; k < stride; k++) {
        run[k] = run_at(b, j + k, end, stride, r[k].size);
        n = MIN(n, run[k].n);
    }
    u64 apart = stride == 2 ? distance(run[0].first, run[1].first) / r->size : 0;
    if (stride == 2 && run[0].first != run[1].first)
        n = (u32)MIN((u64)n, MAX(apart, 1ul));
    for (u32 k = 0; k < stride; k++) {
        u64 lowest = run[k].first - (run[k].down ? (n - 1) * (u64)r[k].size : 0);
        put_ref(s,
                (struct extent){lowest, time, b->ref[j + k], 0, n > 1 ? (u8)r[k].size : 0, r[k].kind},
                n * r[k].size);
    }
    return n * stride;
}

/* -- Records ------------------------------------------------------------------------------------ */

static inline void add_record(struct extents *s, const struct events *e, u32 i)
{
    const struct batch *b = e->batch;
    const u32 end = b->first[i + 1];
    for (u32 j = b->first[i]; j < end;) {
        u32 id = b->ref[j], size = 0;
        if (__builtin_expect(id & BATCH_ODD, 0)) {
            size = b->odd[id & ~BATCH_ODD].size;
            id = b->odd[id & ~BATCH_ODD].ref;
        }
        const struct ref *r = &e->table->refs.v[id];
        u64 time = s->insns + r->insn + 1;
        if (__builtin_expect(r->op == REF_REP, 0)) {
            j += put_rep(s, e, j, end, time);
        } else {
            put_ref(s, (struct extent){b->addr[j], time, id, 0, 0, r->kind}, size ? size : r->size);
            j++;
        }
    }
}

void extents_add(struct extents *s, const struct events *e)
{
    struct ran r;
    s->loads += e->batch->loads + e->batch->modifies;
    s->stores += e->batch->stores + e->batch->modifies;
    for (u32 i = 0; i < e->batch->n_records; i++) {
        if (!events_ran(e, i, &r))
            continue;
        add_record(s, e, i);
        if (!e->unfinished || i + 1 < e->batch->n_records)
            s->insns += r.insns;
    }
}
