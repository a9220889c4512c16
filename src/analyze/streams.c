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

static void put(struct detector *x, struct findings *f, const u64 *first, size_t n)
{
    const size_t every = sizeof(struct stream_ref) / sizeof *first;
    if (f->rules->check)
        findings_given(f, x->place, first, n, every);
    detector_put_all(x, first, n, every);
}

static void put_both(struct stream *x, const struct stream_ref *refs, size_t n)
{
    put(&x->where, &x->at, &refs->address, n);
    put(&x->when, &x->order, &refs->place, n);
}

void streams_put_merged(struct streams *s, struct stream_thread *t, u64 address, u32 type,
                        u32 source)
{
    struct stream_head *h = streams_head(s, t, 0);
    if (!h->of)
        h->of = new_stream(s, t->thread, 0);
    struct stream *x = h->of;
    if (s->rules->check)
        x->at.given += descriptor_digest(x->where.place, address, type);
    detector_put(&x->where, address, type, source);
}

/* -- Batches ------------------------------------------------------------------------------------ */

static void put_batch(struct streams *s, const struct stream_batch *b)
{
    put_both(b->of, b->refs, ENOUGH);
    pool_free(&s->pool, b->refs, ENOUGH * sizeof *b->refs);
}

/* Fetch what a batch needs, before which so many have come since. */
static void fetch(const struct stream_batch *b, u32 since)
{
    if (since == 0)
        for (const u8 *line = (const u8 *)b->of; line < (const u8 *)(b->of + 1); line += 64)
            __builtin_prefetch(line, 1);
    detector_fetch(&b->of->where, since);
    detector_fetch(&b->of->when, since);
}

/* The oldest one is put to its detectors, and makes room for this one. */
static void add_batch(struct streams *s, struct stream_batch b)
{
    struct stream_batch *at = &s->batches[s->n_batches % STREAM_BATCHES];
    if (s->n_batches >= STREAM_BATCHES)
        put_batch(s, at);
    *at = b;
    for (u32 i = 0; i < STREAM_BATCHES && i <= s->n_batches; i++)
        fetch(&s->batches[(s->n_batches - i) % STREAM_BATCHES], i);
    s->n_batches++;
}

static void put_batches(struct streams *s)
{
    for (u64 i = s->n_batches - MIN(s->n_batches, (u64)STREAM_BATCHES); i < s->n_batches; i++)
        put_batch(s, &s->batches[i % STREAM_BATCHES]);
    s->n_batches = 0;
}

void streams_make_room(struct streams *s, struct stream_thread *t, struct stream_head *h, u32 index)
{
    if (!h->of)
        h->of = new_stream(s, t->thread, index);
    if (h->room == ENOUGH) {
        add_batch(s, (struct stream_batch){h->of, h->waiting});
        h->waiting = pool_alloc(&s->pool, ENOUGH * sizeof *h->waiting);
        h->n_waiting = 0;
        return;
    }
    const u32 room = h->room ? MORE_ROOM * h->room : FIRST_ROOM;
    h->waiting =
        pool_realloc(&s->pool, h->waiting, h->room * sizeof *h->waiting, room * sizeof *h->waiting);
    h->room = room;
}

static void end_page(const struct stream_head *page)
{
    for (u32 i = 0; i < STREAM_PAGE; i++)
        if (page[i].of) {
            put_both(page[i].of, page[i].waiting, page[i].n_waiting);
            detector_end(&page[i].of->where);
            detector_end(&page[i].of->when);
        }
}

void streams_end(struct streams *s)
{
    put_batches(s);
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
