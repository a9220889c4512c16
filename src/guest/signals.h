/* SPDX-License-Identifier: MIT */
/* What the files about signals share. See signal.c. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include "guest/frame.h"
#include "guest/guest.h"

enum { SI_KERNEL_ = 0x80 };
enum { FLAG_AC = 0x40000, FLAG_TF = 0x100, FLAG_DF = 0x400, FLAG_RF = 0x10000 };

static inline u64 address(const u8 *label)
{
    return (u64)(uintptr_t)label;
}

/* -- action.c ---------------------------------------------------------------------------------- */

static inline struct sighand *sighand(const struct thread *t)
{
    return &control(t)->sighand[t->sighand % SIGHANDS];
}

static inline void lock(struct sighand *h)
{
    while (__atomic_exchange_n(&h->lock, 1, __ATOMIC_ACQUIRE))
        kernel(__NR_sched_yield, 0, 0, 0, 0);
}

static inline void unlock(struct sighand *h)
{
    store_release(&h->lock, 0);
}

static inline bool is_function(const struct action *a)
{
    return a->handler > 1; /* not SIG_DFL, not SIG_IGN */
}

s64 set_action(u32 sig, const struct action *a);
/* The program's, where ours stand. */
void restore_actions(const struct sighand *h);
/* Forget the action of a handler that wants to run once; a copy of what it was. */
struct action use_action(struct sighand *h, u32 sig);
/* A thread leaves for native code. */
void leave_actions(struct thread *t);
/* Where a reserved signal that was sent is noted. */
u32 sent_slot(u32 sig);
/* Send a signal to this thread. */
void queue(u32 sig, const u64 *info);
void send_again(const struct arrived *a);

/* -- signal.c ---------------------------------------------------------------------------------- */

/* Registers and pc of a context become the program's. */
void take_context(struct thread *t, const struct context *c);

/* -- deliver.c --------------------------------------------------------------------------------- */

void fill_context(const struct thread *t, const struct arrived *a, u64 mask, u64 xstate, struct context *c);
bool put_xstate(const struct thread *t, u64 at);
/* A frame could not be made, or a context not be read: what the kernel then does. */
void make_segv(struct thread *t);

#endif
