/* SPDX-License-Identifier: MIT */
/* Chunks of records, unpacked ahead of whoever decodes them: each by a thread, several at a time, in windows that stay in
 * the cache. They come out in the order of the file. */
#ifndef AHEAD_H
#define AHEAD_H

#include "decode/pack.h"
#include "decode/trace.h"

struct ahead;

/* Some records of a chunk. They, and what is pointed to, hold until the next call. */
struct ahead_window {
    size_t piece; /* which chunk: its place in trace.pieces */
    bool begins;  /* these are its first */
    const struct pack_head *head;
    const struct store_bytes *packed;
    const u8 *records;
    size_t size;
};

/* Only chunks for which wants() holds; all if it is NULL. It is asked once for each, in their order. */
struct ahead *ahead_new(struct trace *t, u32 threads, bool (*wants)(void *ctx, size_t piece),
                        void *ctx);
/* How many threads are worth while for a trace; 0 if the reader had better do it all. */
u32 ahead_threads(const struct trace *t);
/* The next window: 1, or 0 at the end, or -1 with a sentence. */
int ahead_next(struct ahead *a, struct ahead_window *w, struct err *e);
void ahead_free(struct ahead *a);

#endif
