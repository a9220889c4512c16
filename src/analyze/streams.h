/* SPDX-License-Identifier: MIT */
/* The streams of a process: what each thread's references, static one by static one, go through, and in which order they come.
 *
 * Of each, two sequences go to a detector: its addresses, and its places among all references of its thread. So a reference in a loop with
 * branches around it is as regular as its addresses are, and still all can be put together again. */
#ifndef STREAMS_H
#define STREAMS_H

#include "analyze/aims.h"
#include "analyze/findings.h"

struct stream {
    u32 thread, number; /* of the thread, and of the static reference */
    struct detector where, when;
    struct findings at, order;
};

struct stream_ref {
    u64 address, place;
};

/* What every reference of a stream comes to: one line of the cache. */
struct stream_head {
    struct stream_ref *waiting; /* that were put, but that the detectors have not been given yet */
    u32 n_waiting, room;
    struct stream *of;        /* NULL: nothing was put yet */
    struct aim_latest latest; /* what it came to; streams do not look at it */
} __attribute__((aligned(64)));

/* As many as have waited long enough, on their way to the detectors: what these need is fetched meanwhile, one thing after the other, each of which tells
 * where the next one is. */
struct stream_batch {
    struct stream *of;
    struct stream_ref *refs;
};

enum { STREAM_BATCHES = 4 };

/* Heads come by the page, so that one that is there stays where it is. */
enum { STREAM_PAGE = 64 };

struct stream_thread {
    u32 thread;
    u64 refs;                        /* so far; whoever puts more of them counts them here */
    VEC(struct stream_head *) pages; /* by index of the static reference; NULL: not yet */
};

/* Those whose static references are of one part: of `parts`, each has as many. The index of a static reference is its place among its part's. */
struct streams {
    const struct findings_rules *rules;
    u32 part, parts;
    VEC(struct stream *) all;
    VEC(struct stream_thread) threads;
    struct stream_batch batches[STREAM_BATCHES]; /* the latest, by number */
    u64 n_batches;                               /* so far */
    struct pool pool;                            /* of everything they are made of */
};

void streams_init(struct streams *s, const struct findings_rules *rules, u32 part, u32 parts);
/* Stays where it is until the next one is asked for. */
struct stream_thread *streams_thread(struct streams *s, u32 thread);
struct stream_head *streams_new_head(struct streams *s, struct stream_thread *t, u32 index);
/* Room for another reference. */
void streams_make_room(struct streams *s, struct stream_thread *t, struct stream_head *h,
                       u32 index);

/* NULL: there is none yet. */
static inline struct stream_head *stream_known(const struct stream_thread *t, u32 index)
{
    const u32 page = index / STREAM_PAGE;
    return page < t->pages.n && t->pages.v[page] ? &t->pages.v[page][index % STREAM_PAGE] : NULL;
}

static inline struct stream_head *streams_head(struct streams *s, struct stream_thread *t,
                                               u32 index)
{
    struct stream_head *h = stream_known(t, index);
    return h ? h : streams_new_head(s, t, index);
}

/* One more of it. */
static inline void streams_put(struct streams *s, struct stream_thread *t, struct stream_head *h,
                               u32 index, u64 address, u64 place)
{
    if (h->n_waiting == h->room)
        streams_make_room(s, t, h, index);
    h->waiting[h->n_waiting++] = (struct stream_ref){address, place};
}

/* One of the stream of all references of a thread, which has number 0 and no other order. */
void streams_put_merged(struct streams *s, struct stream_thread *t, u64 address, u32 type,
                        u32 source);
/* There are no more. */
void streams_end(struct streams *s);
void streams_fini(struct streams *s);
/* Whether its descriptors expand to what it was given; if the rules ask for that. */
bool stream_is_exact(const struct stream *s);

#endif
