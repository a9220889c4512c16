/* SPDX-License-Identifier: MIT */
/* A hash table of streams, each with two detectors.
 *
 * An interpreter has thousands of streams, and comes to each of them a few times in a while: too seldom for its detectors to be in the cache still. So
 * references wait until it is worth the while to fetch them. */
#include "analyze/streams.h"
#include "base/err.h"

#include <stdlib.h>

enum { ENOUGH = 256 /* references */ };

void streams_init(struct streams *s, const struct findings_rules *rules)
{
    *s = (struct streams){.rules = rules};
}

void streams_fini(struct streams *s)
{
    for (size_t i = 0; i < s->all.n; i++) {
        struct stream *x = s->all.v[i];
        vec_fini(&x->waiting);
        detector_fini(&x->where);
        detector_fini(&x->when);
        findings_fini(&x->at);
        findings_fini(&x->order);
        free(x);
    }
    vec_fini(&s->all);
    vec_fini(&s->slots);
    vec_fini(&s->threads);
    vec_fini(&s->addresses);
    vec_fini(&s->places);
    vec_fini(&s->next);
}

u64 *streams_refs(struct streams *s, u32 thread)
{
    for (size_t i = 0; i < s->threads.n; i++)
        if (s->threads.v[i].thread == thread)
            return &s->threads.v[i].refs;
    vec_push(&s->threads, ((struct stream_thread){.thread = thread}));
    return &s->threads.v[s->threads.n - 1].refs;
}

/* -- Finding a stream --------------------------------------------------------------------------- */

static struct stream_slot *slot_of(struct streams *s, u32 thread, u32 number)
{
    for (u64 i = (number * 0x9e3779b97f4a7c15 ^ thread * 0xbf58476d1ce4e5b9) >> 20;; i++) {
        struct stream_slot *x = &s->slots.v[i & (s->slots.n - 1)];
        if (!x->of || (x->thread == thread && x->number == number))
            return x;
    }
}

static void rehash(struct streams *s)
{
    size_t n = MAX(2 * s->slots.n, 256ul);
    s->slots.n = 0;
    memset(vec_grow(&s->slots, n), 0, n * sizeof *s->slots.v);
    for (u32 i = 0; i < s->all.n; i++) {
        struct stream *x = s->all.v[i];
        *slot_of(s, x->thread, x->number) = (struct stream_slot){x->thread, x->number, x};
    }
}

static struct stream *new_stream(const struct streams *s, u32 thread, u32 number)
{
    struct stream *x = aligned_alloc(_Alignof(struct stream), sizeof *x);
    check(x != NULL);
    *x = (struct stream){.thread = thread};
    x->number = number;
    findings_init(&x->at, s->rules);
    findings_init(&x->order, s->rules);
    detector_init(&x->where, &s->rules->detector, &x->at);
    detector_init(&x->when, &s->rules->detector, &x->order);
    return x;
}

struct stream *streams_find(struct streams *s, u32 thread, u32 number)
{
    if (2 * s->all.n >= s->slots.n)
        rehash(s);
    struct stream_slot *slot = slot_of(s, thread, number);
    if (!slot->of) {
        *slot = (struct stream_slot){thread, number, new_stream(s, thread, number)};
        vec_push(&s->all, slot->of);
    }
    __builtin_prefetch(slot->of, 1);
    return slot->of;
}

/* -- Putting ------------------------------------------------------------------------------------ */

static void put(struct detector *x, struct findings *f, const u64 *v, size_t n)
{
    if (f->rules->check)
        findings_given(f, x->place, v, n);
    detector_put_all(x, v, n);
}

static void put_both(struct stream *x, const u64 *address, const u64 *place, size_t n)
{
    put(&x->where, &x->at, address, n);
    put(&x->when, &x->order, place, n);
}

static void put_waiting(struct streams *s, struct stream *x)
{
    const size_t n = x->waiting.n;
    s->addresses.n = s->places.n = 0;
    u64 *address = vec_grow(&s->addresses, n), *place = vec_grow(&s->places, n);
    for (size_t i = 0; i < n; i++) {
        address[i] = x->waiting.v[i].address;
        place[i] = x->waiting.v[i].place;
    }
    put_both(x, address, place, n);
    x->waiting.n = 0;
}

static void put_all(struct streams *s, struct stream *x, const u64 *address, const u32 *place, size_t n, u64 from)
{
    s->places.n = 0;
    u64 *places = vec_grow(&s->places, n);
    for (size_t i = 0; i < n; i++)
        places[i] = from + place[i];
    put_both(x, address, places, n);
}

static void keep_waiting(struct stream *x, const u64 *address, const u32 *place, size_t n, u64 from)
{
    struct stream_ref *to = vec_grow(&x->waiting, n);
    for (size_t i = 0; i < n; i++)
        to[i] = (struct stream_ref){address[i], from + place[i]};
}

void streams_put(struct streams *s, struct stream *x, const u64 *address, const u32 *place, size_t n, u64 from)
{
    if (x->waiting.n + n > ENOUGH)
        put_waiting(s, x);
    if (n > ENOUGH)
        put_all(s, x, address, place, n, from);
    else
        keep_waiting(x, address, place, n, from);
}

void streams_put_merged(struct streams *s, u32 thread, const u64 *address, const u32 *type,
                        const u32 *source, size_t n)
{
    struct stream *x = streams_find(s, thread, 0);
    for (size_t i = 0; i < n; i++) {
        if (s->rules->check)
            x->at.given += descriptor_digest(x->where.place, address[i], type[i]);
        detector_put(&x->where, address[i], type[i], source[i]);
    }
}

void streams_end(struct streams *s)
{
    for (size_t i = 0; i < s->all.n; i++) {
        put_waiting(s, s->all.v[i]);
        vec_fini(&s->all.v[i]->waiting);
        detector_end(&s->all.v[i]->where);
        detector_end(&s->all.v[i]->when);
    }
}

bool stream_is_exact(const struct stream *s)
{
    return s->at.given == s->at.expanded && s->order.given == s->order.expanded &&
           findings_refs(&s->at) == s->where.place && findings_refs(&s->order) == s->when.place;
}
