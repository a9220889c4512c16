/* SPDX-License-Identifier: MIT */
/* Batches on their way from the process that makes them to the one that looks at them, in memory that both share.
 *
 * One puts, in order; several readers take, each all of them. Only the maker's side writes batches and code: readers have them
 * read-only, and whatever becomes of a reader, nothing is lost here. */
#ifndef RING_H
#define RING_H

#include "base/err.h"
#include "decode/trace.h"
#include "tool/view.h"

enum {
    RING_SLOTS = 8,
    RING_RUNS = 4096,
    RING_ACCESSES = 32768,
    RING_MARKS = 4096,
    RING_READERS = 64,
    RING_MEMORIES = 8192, /* processes whose code can be shown */
    RING_TEXT = 512,
};

struct ring_slot {
    u32 process, thread, n_runs, n_accesses, n_marks, n_insns;
    u64 mirror; /* where in the shared memory the process's code is */
    struct gait_run runs[RING_RUNS];
    struct gait_access accesses[RING_ACCESSES];
    struct gait_mark marks[RING_MARKS];
};

/* What is known of the reading process. */
enum ring_state {
    RING_begins,
    RING_ready,   /* it wants batches */
    RING_prints,  /* it has seen all, and shows what it has found */
    RING_refused, /* it cannot go on: `why` */
    RING_done,    /* it has finished */
    RING_died,    /* it has ended before that: `status`, as from waitpid */
    RING_stopped, /* it was ended since it did not come back */
    RING_lost,    /* whoever was to tell has ended without a word; never said */
};

/* What readers may write; the maker believes nothing of it that could hurt. */
struct ring_control {
    u32 state;    /* enum ring_state; atomic */
    u32 n_readers;
    s32 status;
    char why[RING_TEXT];
    u32 read_bell;          /* counts passed slots; a futex */
    u32 reader_waits;       /* somebody waits for batches; atomic */
    u64 passed[RING_READERS]; /* by reader: batches it has no more need of; atomic */
};

/* What readers only read. */
struct ring_head {
    u64 put;      /* batches so far; atomic */
    u32 put_bell; /* counts them; a futex */
    u32 maker_waits; /* for a free slot; atomic */
    u32 closed;   /* there will be no more; atomic */
    struct ring_slot slots[RING_SLOTS];
};

struct ring {
    struct ring_control *control;
    struct ring_head *head;
    u8 *mirrors;
    u32 n_readers; /* as the maker was told, once */
    u32 n_mirrors; /* the maker's */
    int peer;      /* a pidfd of whoever is on the other side, which may end without a word; -1: none */
};

int ring_init(struct ring *r, struct err *e);
void ring_fini(struct ring *r);

/* The maker's: the readers are ready, and are as many as they have said; room for the code of one more process, NULL if there is none;
 * put what a view has, while somebody reads; there is no more; how many batches all readers are through with. */
void ring_begin(struct ring *r);
void *ring_room(struct ring *r);
void ring_put(struct ring *r, u32 process, u32 thread, const struct view *v, const struct mirror *m);
void ring_close(struct ring *r);
u64 ring_passed(const struct ring *r);

/* The readers': after the fork, give up the right to write; the n-th batch, waiting for it: false at the end; let it go. At the end
 * `closed` tells whether the maker has said so. */
void ring_protect(struct ring *r);
bool ring_get(struct ring *r, u64 n, struct gait_batch *b);
void ring_pass(struct ring *r, u32 reader, u64 n);

/* Either's: has the other side ended; say how the readers are; wait until they are no longer in this state or the milliseconds have
 * passed. */
bool ring_is_alone(const struct ring *r);
void ring_say(struct ring *r, enum ring_state s);
enum ring_state ring_wait(struct ring *r, enum ring_state s, u32 ms);

#endif
