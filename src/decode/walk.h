/* SPDX-License-Identifier: MIT */
/* A whole trace as batches: every chunk of records in the order of the file, decoded.
 *
 * A consumer looks at walk.batch after each walk_next. A record with many accesses may be given out
 * over several batches: walk_share says which of its instructions the current batch is the first to
 * show, so that none is counted twice. */
#ifndef WALK_H
#define WALK_H

#include "decode/ahead.h"
#include "decode/decode.h"
#include "decode/relay.h"
#include "decode/trace.h"

struct walk {
    struct trace *trace;
    struct decoder *decoders; /* one for each unit table */
    struct decoder *decoder;  /* the current chunk's */
    u32 n_decoders;           /* how many there are now */
    const struct unit_table *table;
    struct batch *batch;
    struct ahead *ahead;        /* NULL until the first batch */
    struct ahead_window window; /* on the records of the chunk being walked */
    u64 before;                 /* bytes of records before it */
    bool (*wants)(void *ctx, size_t piece);
    void *wants_ctx;
    bool given; /* the window is, and nothing follows it */
    size_t at;       /* where in the window the current batch begins */
    size_t next;     /* ... and the next one */
    struct events events; /* the current batch */
    u32 shown;            /* what the next one's will be */
};

/* Which unit a record ran, and how many of its instructions. */
struct run_of {
    u32 unit, insns;
};

/* The instructions from .. to - 1 of a record's unit. */
struct share {
    u32 from, to;
};

void walk_init(struct walk *w, struct trace *t);
/* Walk only the chunks of records, by their place in trace.pieces, for which this holds. Before the first walk_next. */
void walk_where(struct walk *w, bool (*wants)(void *ctx, size_t piece), void *ctx);
/* Walk these records, which somebody else has unpacked, and nothing behind them. */
void walk_window(struct walk *w, const struct relay_window *window, const u8 *records);
/* Decode the next batch: 1, or 0 at the end, or -1 with a sentence that names chunk and offset. */
int walk_next(struct walk *w, struct err *e);
void walk_fini(struct walk *w);

/* The thread whose records the batch holds. */
u32 walk_thread(const struct walk *w);
/* ... and its process. */
u32 walk_process(const struct walk *w);
/* Slot s of record i. */
u64 walk_slot(const struct walk *w, u32 i, u32 s);
/* Record i as it was recorded: its header, then its slots. */
const u8 *walk_record(const struct walk *w, u32 i, size_t *size);
/* Does record i tell of instructions that ran? An exit's does, and a partial one. */
bool walk_ran(const struct walk *w, u32 i);
struct run_of walk_run(const struct walk *w, u32 i);
/* Which of its instructions record i is the first to show. */
struct share walk_share(const struct walk *w, u32 i);
/* The static reference behind reference j of the batch, and the size of that access. */
const struct ref *walk_ref(const struct walk *w, u32 j, u32 *size);
/* Add what the batch holds. `bytes` is counted per chunk, with its first batch. */
void walk_count(const struct walk *w, struct trace_counts *n);
/* Say where record i stands, then what is wrong with it; always returns -1. */
int walk_fault(const struct walk *w, u32 i, const char *what, struct err *e);

#endif
