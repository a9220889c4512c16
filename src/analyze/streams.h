/* SPDX-License-Identifier: MIT */
/* The streams of a process: what each thread's references, static one by static one, go through, and in which order they come.
 *
 * Of each, two sequences go to a detector: its addresses, and its places among all references of its thread. So a reference in a loop with
 * branches around it is as regular as its addresses are, and still all can be put together again. */
#ifndef STREAMS_H
#define STREAMS_H

#include "analyze/findings.h"

struct stream_ref {
    u64 address, place;
};

struct stream {
    u32 thread, number;             /* of the thread, and of the static reference */
    VEC(struct stream_ref) waiting; /* that were put, but that the detectors have not been given yet */
    struct detector where, when;
    struct findings at, order;
} __attribute__((aligned(64))); /* so that what comes first is in one line of the cache */

struct stream_slot {
    u32 thread, number;
    struct stream *of; /* NULL: free */
};

struct stream_thread {
    u32 thread;
    u64 refs; /* so far */
};

/* Some of them: whoever has the part they are in. */
struct streams {
    const struct findings_rules *rules;
    VEC(struct stream *) all;
    VEC(struct stream_slot) slots; /* a hash table of them */
    VEC(struct stream_thread) threads;
    VEC(u64) addresses, places;
    VEC(struct stream *) next; /* those that will be put to */
};

void streams_init(struct streams *s, const struct findings_rules *rules);
/* The references that a thread has made so far; whoever gives more of them counts them here. */
u64 *streams_refs(struct streams *s, u32 thread);
/* The stream of a thread's static reference, which is on its way into the cache. */
struct stream *streams_find(struct streams *s, u32 thread, u32 number);
/* Let there be room in the cache for more of it soon. */
static inline void stream_fetch(const struct stream *x)
{
    __builtin_prefetch(x->waiting.v + x->waiting.n, 1);
}
/* More of it: their addresses, and their places, counted from `from`. */
void streams_put(struct streams *s, struct stream *x, const u64 *address, const u32 *place, size_t n, u64 from);
/* One of the stream of all references of a thread, which has number 0 and no other order. */
void streams_put_merged(struct streams *s, u32 thread, const u64 *address, const u32 *type,
                        const u32 *source, size_t n);
/* There are no more. */
void streams_end(struct streams *s);
void streams_fini(struct streams *s);
/* Whether its descriptors expand to what it was given; if the rules ask for that. */
bool stream_is_exact(const struct stream *s);

#endif
