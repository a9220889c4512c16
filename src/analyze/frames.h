/* SPDX-License-Identifier: MIT */
/* From moves to contexts: which frames a thread has, by the stack pointer alone.
 *
 * A frame is made by a call. It lives as long as the stack pointer is not above the slot that the call stored its return address in; so
 * returns, jumps out of many frames and exceptions all end what they should. Calls, returns and jumps (`steps`) are when one looks.
 *
 *   call     frames whose slots are at the new one's or below it end; a frame is made
 *   return, jump   frames whose slots are below the stack pointer end. If it is then at the very slot of the latest frame, as it was when
 *            the function was entered, the frame goes on as the function that it led to: a tail call
 *   signal   a frame for the signal, in the frame that it interrupts, and one in it for the handler; they end like others, when the
 *            thread goes on with the stack pointer that it had, or after a jump out of them
 *
 * The first frame of a stack was made by no call; its slot is the highest that the stack pointer was.
 *
 * A thread may have several stacks. The stack pointer stays on the one in use if it is near the latest frame's slot; else, it is on
 * another one if it is between the latest and the first frame there; else on the same if it has not moved more than STACK_SPAN; else on a
 * new one. Frames on a stack that was left stay, if there are any that a call made: whoever comes back finds them. */
#ifndef FRAMES_H
#define FRAMES_H

#include "analyze/contexts.h"
#include "analyze/moves.h"

enum {
    STACK_SPAN = 8 << 20, /* what a stack may have between two steps */
    STACK_OTHERS = 1 << 16,
};

struct frame {
    u64 slot;
    u32 context;
    bool is_fixed; /* jumps do not make another function of it */
};

struct stack {
    u64 low; /* while it is not in use: the stack pointer comes back to between here and its first slot */
    VEC(struct frame) frames;
};

struct frames_thread {
    u32 number;
    struct stack now;
    VEC(struct stack) others; /* ascending */
    struct move open;         /* it leads where the next stretch begins, */
    bool is_open;             /* ... if there is one */
    struct move waiting;      /* for the next state */
    bool waits;
    struct stack_copy copy; /* as much of it as has come: taken when the thread goes on */
    bool has_copy;
};

struct frames {
    struct contexts contexts;
    struct callers callers;
    VEC(struct frames_thread) threads;
    u32 latest; /* of these */
};

/* The next stretch of a thread. */
void frames_take(struct frames *f, u32 thread, const struct moves *m);
/* There will be no more; the contexts stay. */
void frames_end(struct frames *f);

#endif
