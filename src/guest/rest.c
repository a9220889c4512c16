/* SPDX-License-Identifier: MIT */
/* Rest: a thread that only the host can make record runs the program's own code until then, at its own speed.
 *
 * What it does there comes to us nevertheless. Its system calls arrive as a signal (the kernel's syscall user dispatch), and are
 * made from the cache as ever; so do the program's signals and faults, with our handlers. When a period begins or the window opens, the host calls the
 * thread back by a signal. That must not find it in a system call, which it would interrupt: so the two agree on `resting`, and a
 * thread that comes back by itself while a signal is under way waits for it.
 *
 * Each system call costs several microseconds so; a thread that makes them all the time stays in the cache, as long as its code is there, until it no
 * longer does; if it makes none at all any more, the host reminds it now and then that it could rest. */
#include "guest/guest.h"

enum { SET_SYSCALL_USER_DISPATCH = 59, DISPATCH_OFF = 0, DISPATCH_ON = 1 };
enum { BRIEF = 1 << 16, WHILE = 1 << 23 }; /* ticks */
enum { PRICE = 16 }; /* a request takes as long as so many times to native code and back */

extern const u8 rest_native_code[] __asm__("rest_native"), native_entered[];
_Noreturn void rest_native(u64 ignored, u64 more_flags, u64 code_selector);

/* Somebody has closed the gate. */
void rest_look(struct thread *t)
{
    if (t->stays && time_stamp(t) - t->rest_began > WHILE)
        t->stays = 0;
}

static bool can_rest(const struct thread *t)
{
    return t->made != TASK_sharer && !(t->blocked & SIG_BIT(SIGTRAP_)) && !runs_by_steps(t) && !goes_on_with_call(t) &&
           !load_relaxed(&control(t)->leaving);
}

/* Is there nothing for it to do in the cache? */
static bool is_idle(const struct thread *t)
{
    return control(t)->rests && t->quiet && !t->armed && can_rest(t);
}

/* The average counts: after two calls close together there may be none for long, and the cache's pace for all that while costs more than coming back. */
void rest_note_call(struct thread *t)
{
    if (!is_idle(t))
        return;
    u64 now = time_stamp(t), since = MIN(now - t->called, (u64)WHILE);
    t->called = now;
    t->between += since / 8 - t->between / 8;
    t->stays = t->between < BRIEF;
}

bool rest_is_due(const struct thread *t)
{
    return !t->stays && is_idle(t);
}

void rest_unless_worth(struct thread *t)
{
    if (!is_idle(t))
        return;
    if (t->credit < PRICE)
        rest_begin(t);
    else
        t->credit -= PRICE;
}

/* From our own pages system calls are made as ever; from elsewhere while t->traps is 0. */
static bool dispatches(struct thread *t)
{
    if (!t->dispatches)
        t->dispatches = kernel6(__NR_prctl, SET_SYSCALL_USER_DISPATCH, DISPATCH_ON, (u64)(uintptr_t)wire(t), WIRE_SIZE,
                                (u64)(uintptr_t)&t->traps, 0) == 0;
    if (!t->dispatches)
        store_relaxed(&control(t)->rests, 0);
    return t->dispatches;
}

/* Has anything happened since the thread looked? The host looks at `resting` afterwards. */
static bool is_wanted(const struct thread *t)
{
    const struct control *c = control(t);
    return budget_has_changed(t) || load_relaxed(&c->open) != t->was_open || load_relaxed(&c->leaving);
}

void rest_begin(struct thread *t)
{
    if (host_is_gone(t))
        leave_for_native(t, NATIVE_host_gone);
    if (!is_canonical(t->pc) || !dispatches(t))
        return;
    t->n_rests++;
    t->rest_began = time_stamp(t);
    t->traps = 1;
    __atomic_store_n(&t->resting, REST_native, __ATOMIC_SEQ_CST);
    if (!is_wanted(t))
        rest_native(0, 0, t->selectors[0]);
    rest_end(t);
}

static void meet_signal(struct thread *t)
{
    u32 seen = REST_native;
    while (!__atomic_compare_exchange_n(&t->resting, &seen, REST_none, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        if (seen == REST_sent || host_is_gone(t)) {
            kernel(__NR_getpid, 0, 0, 0, 0); /* it arrives here, if it has not */
            store_relaxed(&t->resting, REST_none);
            return;
        }
        seen = REST_native;
        kernel(__NR_sched_yield, 0, 0, 0, 0);
    }
}

void rest_end(struct thread *t)
{
    if (!t->resting)
        return;
    t->traps = 0;
    meet_signal(t);
    bool was_brief = time_stamp(t) - t->rest_began < BRIEF;
    t->stays |= was_brief;
    t->credit += was_brief;
}

void rest_forget(struct thread *t)
{
    if (t->dispatches)
        kernel6(__NR_prctl, SET_SYSCALL_USER_DISPATCH, DISPATCH_OFF, 0, 0, 0, 0);
    t->dispatches = 0;
}

bool rest_is_called(const struct thread *t, u32 sig, const u64 *info)
{
    bool is_bare = !(u32)info[1] && !info[2]; /* the program has used up its share of the kernel's memory for signals */
    return sig == SIGTRAP_ && (((s32)(u32)info[1] == CALL_BACK_CODE && info[3] == t->self) || (is_bare && t->resting > REST_native));
}

bool rest_is_beginning(const struct thread *t, u64 pc)
{
    return t->resting && pc >= (u64)(uintptr_t)rest_native_code && pc <= (u64)(uintptr_t)native_entered;
}
