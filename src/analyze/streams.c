/* SPDX-License-Identifier: MIT */
/* Streams, each with two detectors.
 *
 * An interpreter has thousands of streams, and comes to each of them a few times in a while: too seldom for its detectors to be in the cache still. So
 * references wait until it is worth the while to fetch them. */
#include "analyze/streams.h"
#include "base/err.h"

#include <stdlib.h>

enum {
    FIRST_ROOM = 4, /* references: a line of the cache */
    MORE_ROOM = 4,  /* times as much, if that is not enough */
    ENOUGH = 256,
};

void streams_init(struct streams *s, const struct findings_rules *rules, u32 part, u32 parts)
{
    *s = (struct streams){.rules = rules, .part = part, .parts = parts};
}

void streams_fini(struct streams *s)
{
    for (size_t i = 0; i < s->threads.n; i++)
        vec_fini(&s->threads.v[i].pages);
    vec_fini(&s->threads);
    vec_fini(&s->all);
    pool_fini(&s->pool);
}

struct stream_thread *streams_thread(struct streams *s, u32 thread)
{
    for (size_t i = 0; i < s->threads.n; i++)
        if (s->threads.v[i].thread == thread)
            return &s->threads.v[i];
    vec_push(&s->threads, ((struct stream_thread){.thread = thread}));
    return &s->threads.v[s->threads.n - 1];
}

struct stream_head *streams_new_head(struct streams *s, struct stream_thread *t, u32 index)
{
    const size_t size = STREAM_PAGE * sizeof(struct stream_head);
    vec_reach(&t->pages, index / STREAM_PAGE);
    t->pages.v[index / STREAM_PAGE] = memset(pool_alloc(&s->pool, size), 0, size);
    return stream_known(t, index);
}

static struct stream *new_stream(struct streams *s, u32 thread, u32 index)
{
    struct stream *x = pool_alloc(&s->pool, sizeof *x);
    *x = (struct stream){.thread = thread, .number = index * s->parts + s->part};
    findings_init(&x->at, s->rules, &s->pool);
    findings_init(&x->order, s->rules, &s->pool);
    detector_init(&x->where, &s->rules->detector, &s->pool, &x->at);
    detector_init(&x->when, &s->rules->detector, &s->pool, &x->order);
    vec_push(&s->all, x);
    return x;
}

/* -- Putting ------------------------------------------------------------------------------------ */

/* One of the two sequences of what waits. */
static void put(struct detector *x, struct findings *f, const u64 *first, size_t n)
{
    const size_t every = sizeof(struct stream_ref) / sizeof *first;
    if (f->rules->check)
        findings_given(f, x->place, first, n, every);
    detector_put_all(x, first, n, every);
}

static void put_waiting(struct stream_head *h)
{
    put(&h->of->where, &h->of->at, &h->waiting->address, h->n_waiting);
    put(&h->of->when, &h->of->order, &h->waiting->place, h->n_waiting);
    h->n_waiting = 0;
}

void streams_make_room(struct streams *s, struct stream_thread *t, struct stream_head *h, u32 index)
{
    if (h->room == ENOUGH) {
        put_waiting(h);
        return;
    }
    if (!h->of)
        h->of = new_stream(s, t->thread, index);
    const u32 room = h->room ? MORE_ROOM * h->room : FIRST_ROOM;
    h->waiting = pool_realloc(&s->pool, h->waiting, h->room * sizeof *h->waiting, room * sizeof *h->waiting);
    h->room = room;
}

void streams_put_merged(struct streams *s, struct stream_thread *t, u64 address, u32 type, u32 source)
{
    struct stream_head *h = streams_head(s, t, 0);
    if (!h->of)
        h->of = new_stream(s, t->thread, 0);
    struct stream *x = h->of;
    if (s->rules->check)
        x->at.given += descriptor_digest(x->where.place, address, type);
    detector_put(&x->where, address, type, source);
}

static void end_page(struct stream_head *page)
{
    for (u32 i = 0; i < STREAM_PAGE; i++)
        if (page[i].of) {
            put_waiting(&page[i]);
            detector_end(&page[i].of->where);
            detector_end(&page[i].of->when);
        }
}

void streams_end(struct streams *s)
{
    for (size_t i = 0; i < s->threads.n; i++)
        for (size_t k = 0; k < s->threads.v[i].pages.n; k++)
            if (s->threads.v[i].pages.v[k])
                end_page(s->threads.v[i].pages.v[k]);
}

bool stream_is_exact(const struct stream *s)
{
    return s->at.given == s->at.expanded && s->order.given == s->order.expanded &&
           findings_refs(&s->at) == s->where.place && findings_refs(&s->order) == s->when.place;
}
