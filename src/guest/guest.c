/* SPDX-License-Identifier: MIT */
/* What lives inside the program: asking the host, and the entries from emitted code. No heap, no
 * libc, no state but the shared pages; nothing here may fault, spin without end or print. See
 * docs/guest.md. */
#include "guest/guest.h"

/* -- Leaving ----------------------------------------------------------------------------------- */

_Noreturn void leave_native(void);

_Noreturn void go_native(struct thread *t, enum native_reason why)
{
    u64 slot[RECORD_native_slots] = {why, time_stamp()};
    if (t->buffer != NO_BUFFER && records(t) && !host_is_gone(t)) {
        put_record(t, RECORD_native, RECORD_native_slots, slot);
        publish_buffer(t);
    }
    if (!records(t))
        t->app_r11 = t->ptr;
    release_signals(t);
    leave_native();
}

/* -- Requests ---------------------------------------------------------------------------------- */

/* Ask the host; 0 if it refuses or is gone. */
u64 ask_range(struct thread *t, enum request_kind kind, u64 arg, u64 end)
{
    struct control *c = control(t);
    t->n_requests++;
    t->req_kind = kind;
    t->req_arg = arg;
    t->req_end = end;
    t->answer = 0;
    store_release(&t->req_state, REQ_POSTED);
    __atomic_fetch_or(&c->asking[t->block / 64], 1ull << (t->block % 64), __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&c->bell, 1, __ATOMIC_SEQ_CST);
    if (load_relaxed(&c->host_sleeps))
        futex_wake(&c->bell);
    for (u32 i = 0; i < c->spin; i++) {
        if (load_acquire(&t->req_state) == REQ_ANSWERED)
            return t->answer;
        pause();
    }
    while (load_acquire(&t->req_state) != REQ_ANSWERED) {
        if (host_is_gone(t))
            return 0;
        futex_wait(&t->req_state, REQ_POSTED);
    }
    return t->answer;
}

u64 ask(struct thread *t, enum request_kind kind, u64 arg)
{
    return ask_range(t, kind, arg, 0);
}

static void go_to(struct thread *t, u64 answer)
{
    if (!answer)
        go_native(t, host_is_gone(t) ? NATIVE_host_gone : NATIVE_refused);
    t->resume = answer;
}

/* -- Entries from emitted code ----------------------------------------------------------------- */

void on_start(struct thread *t)
{
    if (!new_buffer(t))
        go_native(t, NATIVE_host_gone);
    release_signals(t);
    go_to(t, ask(t, REQ_translate_pc, t->pc));
}

static u64 exit_target(const struct thread *t)
{
    const u64 *target = (const u64 *)(const void *)(wire(t) + WIRE_TARGET_OFF);
    return target[t->reason & (EXIT_ID_LIMIT - 1)];
}

void on_exit(struct thread *t)
{
    t->pc = exit_target(t);
    go_to(t, ask(t, REQ_follow_exit, t->reason));
}

void on_gate(struct thread *t)
{
    const struct gate *g = (const struct gate *)(uintptr_t)t->reason;
    t->n_gates++;
    t->pc = g->pc;
    t->resume = t->reason + (u64)(s64)g->entry;
    if (!swap_buffer(t))
        go_native(t, NATIVE_host_gone);
}

/* Find t->pc in the index, without the host. */
static const struct index_entry *find(const struct thread *t)
{
    const struct index_entry *v =
        (const struct index_entry *)(const void *)(wire(t) + WIRE_INDEX_OFF);
    u32 mask = (1u << WIRE_INDEX_LOG2) - 1;
    for (u32 i = index_hash(t->pc);; i = (i + 1) & mask) {
        u64 pc = load_acquire(&v[i].pc);
        if (!pc || pc == t->pc)
            return pc ? &v[i] : 0;
    }
}

static u64 in_cache(const struct thread *t, u32 offset)
{
    return (u64)(uintptr_t)wire(t) + WIRE_CACHE_OFF + offset;
}

/* Go on at t->pc. */
static void go_on(struct thread *t)
{
    const struct index_entry *x = find(t);
    u32 entry = x ? load_relaxed(&x->entry) : 0;
    go_to(t, entry ? in_cache(t, entry) : ask(t, REQ_translate_pc, t->pc));
}

void on_state(struct thread *t)
{
    t->pc = exit_target(t);
    put_state(t);
    go_on(t);
}

/* Find the unit of t->pc without the host; fill the jump tables' entries for next time. */
static u64 look_up(struct thread *t, bool is_return)
{
    const struct index_entry *x = find(t);
    if (!x)
        return 0;
    u32 entry = load_relaxed(&x->entry), door = load_relaxed(is_return ? &x->landing : &x->door);
    if (!entry || !door)
        return 0;
    u64 *jump = (u64 *)(uintptr_t)(control(t)->jump + (is_return ? WIRE_JUMP_SIZE : 0));
    store_relaxed(&jump[t->pc & t->jump_mask], in_cache(t, door));
    return in_cache(t, entry);
}

void on_indirect(struct thread *t)
{
    t->n_indirect_misses++;
    t->pc = t->target;
    t->resume = look_up(t, false);
    if (!t->resume)
        go_to(t, ask(t, REQ_translate_pc, t->pc));
}

void on_landing(struct thread *t)
{
    t->n_return_misses++;
    t->pc = t->target;
    /* The return slot holds a cache address: put back what the program has there. */
    *(u64 *)(uintptr_t)(t->regs[RSP] - 8) = t->pc;
    t->resume = look_up(t, true);
    if (!t->resume)
        go_to(t, ask(t, REQ_translate_return, t->pc));
}
