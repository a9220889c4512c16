/* SPDX-License-Identifier: MIT */
/* Back from native code and from faults, where on_signal sends a thread; single steps there; and leaving for good. */
#include "guest/signals.h"

extern const u8 guest_head[];
_Noreturn void enter_native(const struct context *c, u64 gs);

/* -- Where on_signal sends a thread ------------------------------------------------------------ */

/* The slots stored so far become a record of their own: the unit's number before them, rsp behind. */
static void put_partial(struct thread *t)
{
    u64 slot[RECORD_ANY_SLOTS];
    u32 n = t->partial.slots;
    if (!tells(t) || n + PARTIAL_EXTRA_SLOTS > RECORD_ANY_SLOTS)
        return;
    const u8 *p = (const u8 *)(uintptr_t)t->ptr;
    slot[0] = t->partial.unit | (u64)t->partial.insns << 32 | (u64)t->partial.refs << 48;
    for (u32 i = 0; i < n; i++)
        slot[1 + i] = *(const u64 *)(const void *)(p + RECORD_SLOTS_AT + 8 * i);
    slot[1 + n] = t->regs[RSP];
    put_record(t, RECORD_partial, n + PARTIAL_EXTRA_SLOTS, slot);
}

void on_fault(struct thread *t)
{
    u64 what = ask(t, REQ_fault, t->reason);
    store_release(&t->inside,
                  0); /* only now: the answer is about code that must not be dropped before */
    if (what == FAULT_CHECK)
        step_native(t);
    if (what == FAULT_RETURN) {
        set_limit(t);
        go_on(t);
        return;
    }
    if (what != FAULT_AT) { /* not at an instruction of the program: let it die there */
        struct action none = {0};
        set_action(t->arrived[ARRIVED_FAULT].sig, &none);
        t->resume = t->reason;
        return;
    }
    put_partial(t);
    struct arrived *a = &t->arrived[ARRIVED_FAULT];
    if (a->sig == SIGILL_ || a->sig == SIGFPE_ || (a->sig == SIGTRAP_ && a->info[2]))
        a->info[2] = t->pc; /* si_addr tells the instruction */
    t->pending |= 1u << ARRIVED_FAULT;
    deliver(t);
    go_on(t);
}

void on_reenter(struct thread *t)
{
    bool has_rested = t->resting;
    rest_end(t);
    if (t->stepping == STEP_DONE || (t->stepping && t->pc != t->target)) {
        put_stepped(t, t->target, t->pc);
        put_state(t);
    }
    t->stepping = 0;
    if (t->pending)
        deliver(t);
    if (has_rested)
        follow_window(t);
    set_limit(t);
    go_on(t);
}

/* A system call that did not begin, or that a filter refused with a signal. */
void on_abandoned(struct thread *t)
{
    bool refused = t->pending & 1u << ARRIVED_FAULT;
    u64 nr = t->regs[RAX];
    t->regs[RCX] = t->pc;
    *(records(t) ? &t->app_r11 : &t->ptr) = t->flags;
    if (refused)
        t->arrived[ARRIVED_FAULT].info[2] = t->pc; /* si_call_addr */
    else
        t->pc -= 2;
    t->result = refused ? (u64)-38 : RESULT_RESTARTED;
    call_undo(t);
    put_syscall(t, nr);
    deliver(t);
    go_on(t);
}

bool runs_by_steps(const struct thread *t)
{
    return t->traced || t->flags & FLAG_AC || t->selectors[0] != CODE64;
}

/* Run one instruction of the program natively: it cannot run from the cache, or the program traces
 * itself. */
_Noreturn void step_native(struct thread *t)
{
    if (!is_canonical(t->pc)) /* no processor would go there */
        make_segv(t);
    if (t->pending)
        deliver(t);
    t->stepping = STEP_BEGUN;
    t->target = t->pc;
    if (!records(t))
        t->app_r11 = t->ptr;
    leave_native(0, FLAG_TF, t->selectors[0]);
}

/* -- Leaving ----------------------------------------------------------------------------------- */

/* Told to leave, all threads do so at once, by the host's hand: none of them sees our handlers. A child of vfork, for which another waits,
 * and one of fork that has no pages yet leave by themselves. Back if there is no host any more. */
static void park(struct thread *t, u64 mask)
{
    if (!load_relaxed(&control(t)->leaving) || t->made != TASK_thread)
        return;
    if (!t->stack.size)
        t->stack.flags = SS_DISABLE_; /* or the kernel refuses it, and keeps ours */
    kernel(__NR_sigaltstack, (u64)(uintptr_t)&t->stack, 0, 0, 0);
    t->task_mask = mask;
    store_release(&t->parked, 1);
    while (!host_is_gone(t))
        futex_wait(&t->parked, 1);
}

/* Everything at once, so that no signal finds one half of the thread native and the other not: its mask,
 * alternate stack, vector state and registers. Signals that wait are sent again, and arrive there. */
_Noreturn void signal_go_native(struct thread *t)
{
    static const struct arrived nothing;
    struct context c;
    u64 mask = signal_mask(~0ull), xstate = t->self + T_SIGNAL_STACK;
    if (t->held)
        mask = t->task_mask;
    else if (t->pending & 1u << ARRIVED_DEFERRED)
        mask = t->mask;
    for (; t->pending; t->pending &= t->pending - 1)
        send_again(&t->arrived[__builtin_ctz(t->pending)]);
    mask = (mask & ~RESERVED) | t->blocked;
    rest_forget(t);
    finish_request(t);
    park(t, mask);
    leave_actions(t);
    put_xstate(t, xstate);
    fill_context(t, &nothing, mask, xstate, &c);
    if (!c.stack.size)
        c.stack.flags = SS_DISABLE_; /* or the kernel refuses it, and keeps ours */
    enter_native(&c, t->app_gs);
}

/* The block of a thread that has left, or of another of its process. */
static const struct thread *block_of_leaver(void)
{
    const u8 *blocks = guest_head + WIRE_THREAD_OFF;
    u32 tid = (u32)kernel(__NR_gettid, 0, 0, 0, 0);
    for (u32 i = 0; i < WIRE_THREADS; i++) {
        const struct thread *t =
            (const struct thread *)(const void *)(blocks + (u64)i * WIRE_THREAD_SIZE);
        if (t->in_use && t->tid == tid)
            return t;
    }
    return (const struct thread *)(const void *)blocks;
}

/* A signal of a thread that has left, on the program's stack; the handler it goes on to, 0 if none. */
u64 pass_on(u32 sig, const u64 *info, const struct context *c)
{
    struct action act = use_action(sighand(block_of_leaver()), sig), none = {0};
    bool sent = (s32)(u32)info[1] <= 0;
    if (is_function(&act)) {
        signal_mask(c->mask | act.mask | (act.flags & SA_NODEFER_ ? 0 : SIG_BIT(sig)));
        return act.handler;
    }
    if (act.handler == 1 && sent)
        return 0;
    set_action(sig, &none);
    if (sent || sig == SIGTRAP_ || sig == SIGSYS_)
        queue(sig, info);
    return 0;
}
