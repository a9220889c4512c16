/* SPDX-License-Identifier: MIT */
/* Where code ran, without names: the tree of (caller's context, address) pairs, one for each place that a call, or a jump at the height of
 * one, led to. There are more of them than functions called: what belongs together is found when functions are known (calls.c). */
#ifndef CONTEXTS_H
#define CONTEXTS_H

#include "analyze/miss_kinds.h"
#include "analyze/stacksteps.h"
#include "base/vec.h"

enum { CONTEXT_NONE = UINT32_MAX };

struct context {
    u64 pc;     /* of a root, the number of its thread */
    u32 parent; /* an earlier one; CONTEXT_NONE: it is a root */
    u32 child;  /* the latest that was asked for, or CONTEXT_NONE */
    u32 jumps;  /* the first of its jumps to siblings, or CONTEXT_NONE */
    u8 signal;  /* not code, but the signal that interrupted its parent; 0: code */
    u64 calls;
    struct stack_counts self;
    u64 misses[MISS_KINDS];
};

struct context_jump {
    u32 to;
    u32 next; /* of the same context, or CONTEXT_NONE */
    u64 count;
};

struct contexts {
    VEC(struct context) v;
    VEC(struct context_jump) jumps;
    u32 *slots; /* by the hash of parent, pc and signal: index + 1 */
    u32 mask, used;
};

u32 context_root(struct contexts *c, u32 thread);
/* That of code at pc, or of a signal, below a parent. */
u32 context_child(struct contexts *c, u32 parent, u64 pc, u8 signal);
/* That of code at pc, to which code in a context jumped; counted. */
u32 context_sibling(struct contexts *c, u32 from, u64 pc);
void contexts_fini(struct contexts *c);

#endif
