/* SPDX-License-Identifier: MIT */
/* An LRU stack of lines: which was touched when, and so how deep each is.
 *
 * Its memory grows with the lines, not with the accesses: when the times are used up, lines are numbered anew in their order. With a limit
 * of lines it keeps a sample of them, and halves that whenever there are too many. */
#ifndef STACK_H
#define STACK_H

#include "analyze/distances.h"
#include "analyze/marks.h"
#include "analyze/spans.h"
#include "analyze/stamps.h"

struct stack {
    struct stamps stamps; /* of each line its time + 1 */
    struct marks marks;   /* the times that are some line's */
    struct distances distances;
    u32 sample;  /* log2 of the lines that one stands for; one thread writes it, others may read */
    u32 limit;   /* of lines; 0: none */
    u64 seen;    /* lines that were ever on the stack */
    bool fast;   /* the processor has what MARKS_FAST asks for */
    struct fars *fars; /* who counts by place; NULL: nobody does */
};

void stack_init(struct stack *k, u32 sample, u32 limit, struct fars *fars);
void stack_fini(struct stack *k);
/* What came next: spans of the stack's sample or, with a limit, a list of accesses. */
void stack_take(struct stack *k, const struct spans *s);

/* The greatest limit, a power of two, whose stack takes so many bytes; 0: even the smallest takes more. */
u32 stack_limit(u64 bytes);

#endif
