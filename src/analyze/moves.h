/* SPDX-License-Identifier: MIT */
/* From batches to moves: the calls, returns, jumps and signals of a stretch of a thread's records, and what ran between them. What can be
 * found out about a stretch alone: to which frames the moves lead is for frames.h to say.
 *
 * Jumps inside a frame that is known to go on are left out: they change nothing. */
#ifndef MOVES_H
#define MOVES_H

#include "analyze/callers.h"
#include "analyze/miss_kinds.h"
#include "analyze/stacksteps.h"
#include "base/vec.h"

enum {
    STACK_NEAR = 4096, /* a stack pointer this near to the slot of the latest call is on the same stack */
    MOVE_SLOTS = 64,
};

enum move_kind {
    MOVE_call,
    MOVE_jump,   /* or a return */
    MOVE_signal, /* its handler begins; with which stack pointer, the next state says */
    MOVE_leap,   /* a handler returns, or something ran that is not known; the same */
    MOVE_state,
    MOVE_stack, /* behind a gap: `to` is the number of a copy of the stack */
};

struct move {
    u64 to;  /* where it leads; of a signal, the handler */
    u64 rsp; /* behind it; of a signal, before it */
    struct stack_counts counts; /* of what ran since the move before, this one's instruction included */
    u32 misses[MISS_KINDS];     /* of that; whoever knows puts them in */
    u8 kind, signal;
};

struct moves {
    struct stack_scripts *scripts;
    struct carried now;
    VEC(struct move) list;
    VEC(struct stack_copy) copies;
    size_t n_copies; /* of them in use: their words are kept for the next */
    struct stack_counts rest; /* what ran behind the last move */
    u32 rest_misses[MISS_KINDS];
    u32 again; /* instructions that are counted here, though the stretch before has begun with them */
    bool begun;               /* it is known where it begins: at this pc, 0 if that was lost, with this stack pointer */
    u64 pc, rsp;
    bool is_gap; /* ... because it was not to be recorded */
    size_t open; /* this move, counted from 1, leads where the next record begins; 0: none does */
    u32 insns_done, steps_done; /* of a record that goes on in the next batch */
    u32 n_slots;
    u64 slot[MOVE_SLOTS]; /* of the latest calls that have not returned; each near to the next */
};

void moves_init(struct moves *m, struct stack_scripts *s);
/* Nothing is known. */
void moves_reset(struct moves *m);
void moves_add(struct moves *m, const struct events *e);
void moves_fini(struct moves *m);

#endif
