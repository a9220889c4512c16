/* SPDX-License-Identifier: MIT */
/* Records of the guest's own, and the buffers that all records go into. */
#include "guest/guest.h"

/* -- Records ----------------------------------------------------------------------------------- */

void put_record(struct thread *t, u32 id, u32 n, const u64 *slot)
{
    u8 *p = (u8 *)(uintptr_t)t->ptr;
    for (u32 i = 0; i < n; i++)
        *(u64 *)(void *)(p + RECORD_SLOTS_AT + 8 * i) = slot[i];
    store_release((u32 *)(void *)p,
                  id << RECORD_ID_SHIFT | n); /* last: a record exists once its header does */
    t->ptr += RECORD_SLOTS_AT + 8 * n;
}

static u64 fs_base(void)
{
    u64 v;
    __asm__ volatile("rdfsbase %0" : "=r"(v));
    return v;
}

static void put_what_is_known(struct thread *t, u32 id)
{
    u64 slot[RECORD_state_slots] = {t->regs[RSP], fs_base(), t->app_gs, time_stamp(t)};
    put_record(t, id, RECORD_state_slots, slot);
}
_Static_assert(RECORD_resumed_slots == RECORD_state_slots, "one says what the other does");

void put_state(struct thread *t)
{
    if (tells(t))
        put_what_is_known(t, RECORD_state);
}

void put_resumed(struct thread *t)
{
    put_what_is_known(t, RECORD_resumed);
}

void put_syscall(struct thread *t, u64 nr)
{
    u64 slot[RECORD_syscall_slots] = {nr, t->result, time_stamp(t)};
    if (tells(t))
        put_record(t, RECORD_syscall, RECORD_syscall_slots, slot);
}

void put_stepped(struct thread *t, u64 pc, u64 next)
{
    u64 slot[RECORD_stepped_slots] = {pc, next, time_stamp(t)};
    __atomic_fetch_add(&control(t)->stepped, 1, __ATOMIC_RELAXED);
    if (tells(t))
        put_record(t, RECORD_stepped, RECORD_stepped_slots, slot);
}

/* -- Buffers ----------------------------------------------------------------------------------- */

static u64 buffer_start(const struct thread *t, u32 i)
{
    return (u64)(uintptr_t)wire(t) + WIRE_BUF_OFF + (u64)i * control(t)->buffer_size;
}

void hand_over_buffer(struct thread *t)
{
    struct control *c = control(t);
    u32 buffer = t->buffer;
    store_relaxed(&c->length[buffer], (u32)(t->ptr - buffer_start(t, buffer)));
    /* First: if the thread is killed here, nobody may publish it once more. */
    store_relaxed(&t->buffer, NO_BUFFER);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    u64 seq = __atomic_fetch_add(&c->published, 1, __ATOMIC_SEQ_CST);
    store_release(&c->ring[seq % BUFFER_RING], (seq + 1) << 16 | buffer);
    __atomic_fetch_add(&c->drain_bell, 1, __ATOMIC_SEQ_CST);
    if (load_relaxed(&c->drain_sleeps) &&
        seq + 1 - load_relaxed(&c->returned) >= load_relaxed(&c->drain_wants))
        futex_wake(&c->drain_bell);
}

/* What begins the next buffer says where the stack is, and a quiet thread has moved on since its last record: say that first. */
void publish_buffer(struct thread *t)
{
    if (t->quiet)
        put_resumed(t);
    hand_over_buffer(t);
}

/* Where the records of a thread that is no more end: buffers are handed out zeroed, and a header is
 * written last. */
static u64 records_end(const struct thread *t)
{
    u64 at = buffer_start(t, t->buffer), end = at + control(t)->buffer_size;
    while (at + RECORD_SLOTS_AT <= end) {
        u32 header = *(const u32 *)(uintptr_t)at;
        u64 next = at + RECORD_SLOTS_AT + 8 * (u64)(header & RECORD_SLOT_LIMIT);
        if (header >> RECORD_ID_SHIFT == 0 || next > end)
            break;
        at = next;
    }
    return at;
}

void publish_left_buffer(struct thread *t)
{
    if (t->buffer == NO_BUFFER)
        return;
    t->ptr = records_end(t);
    hand_over_buffer(t);
}

static bool claim_in_word(struct thread *t, u32 word)
{
    struct control *c = control(t);
    u64 free = load_acquire(&c->free[word]);
    while (free) {
        u32 bit = (u32)__builtin_ctzll(free);
        if (__atomic_compare_exchange_n(&c->free[word], &free, free & ~(1ull << bit), false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
            t->buffer = word * 64 + bit;
            store_relaxed(&c->owner[t->buffer].tid, t->tid);
            store_relaxed(&c->owner[t->buffer].pid, t->pid);
            store_relaxed(&c->owner[t->buffer].number, t->number + 1);
            return true;
        }
    }
    return false;
}

/* Take a free buffer, the lowest first: those are the ones in cache. */
static bool claim_buffer(struct thread *t)
{
    const u32 words = sizeof control(t)->free / sizeof control(t)->free[0];
    for (u32 word = 0; word < words; word++)
        if (claim_in_word(t, word))
            return true;
    return false;
}

/* May another buffer be taken, when `more` more have been handed over? */
static bool window_is_open(const struct control *c, u32 more)
{
    return load_acquire(&c->published) + more - load_acquire(&c->returned) < c->window;
}

/* Get an empty buffer, waiting for the host to drain some if need be; false if there is no host any
 * more. No spinning: whoever is to free a buffer may need this core. */
static bool wait_for_buffer(struct thread *t)
{
    struct control *c = control(t);
    if (!window_is_open(c, 0)) {
        c->n_waits++;
        __atomic_fetch_add(&c->guest_waits, 1, __ATOMIC_SEQ_CST);
        for (;;) {
            u32 seen = load_acquire(&c->free_bell);
            if (window_is_open(c, 0) || host_is_gone(t))
                break;
            futex_wait(&c->free_bell, seen);
        }
        __atomic_fetch_sub(&c->guest_waits, 1, __ATOMIC_SEQ_CST);
    }
    return !host_is_gone(t) && claim_buffer(t);
}

static u64 buffer_limit(const struct thread *t)
{
    if (!records(t)) /* r11 is not stolen then; t->ptr is just what the register holds */
        return ~0ull;
    return buffer_start(t, t->buffer) + control(t)->buffer_size - BUFFER_SLACK;
}

u64 buffer_room(const struct thread *t)
{
    u64 limit = buffer_limit(t);
    return limit - MIN(t->ptr, limit);
}

bool buffer_is_full(const struct thread *t)
{
    return t->ptr > buffer_limit(t);
}

bool buffer_would_wait(const struct thread *t)
{
    return !window_is_open(control(t), 1);
}

/* A signal may arrive at any moment, and closes the gates: look for it after they are open. So may the host, when the window opens or
 * closes, or a period begins. */
void set_limit(struct thread *t)
{
    u64 limit = t->quiet && t->is_spent ? ~0ull : buffer_limit(t), step = budget_step(t);
    if (step < limit - MIN(t->ptr, limit))
        limit = t->ptr + step;
    if (!records(t))
        limit = t->jump_mask;
    __atomic_store_n(&t->limit, limit, __ATOMIC_SEQ_CST);
    if (load_relaxed(&t->pending) || t->traced || load_relaxed(&control(t)->open) != t->was_open ||
        budget_has_changed(t) || rest_is_due(t))
        store_relaxed(&t->limit, 0);
}

bool new_buffer(struct thread *t)
{
    if (records(t)) {
        if (!wait_for_buffer(t))
            return false;
        t->ptr = buffer_start(t, t->buffer);
        put_what_is_known(t, RECORD_state);
    }
    set_limit(t);
    return true;
}

/* Begin the buffer anew, and say so in it. What it held is gone. */
static void drop_records(struct thread *t)
{
    struct control *c = control(t);
    u64 start = buffer_start(t, t->buffer);
    u64 slot[RECORD_lost_slots] = {t->ptr - start, time_stamp(t)};
    __atomic_fetch_add(&c->lost_buffers, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&c->lost_bytes, slot[0], __ATOMIC_RELAXED);
    for (u64 *p = (u64 *)(uintptr_t)start; (u64)(uintptr_t)p < t->ptr; p++)
        *p = 0;
    t->ptr = start;
    put_what_is_known(t, RECORD_state);
    put_record(t, RECORD_lost, RECORD_lost_slots, slot);
    set_limit(t);
}

bool swap_buffer(struct thread *t)
{
    struct control *c = control(t);
    if (records(t) && c->drops && !window_is_open(c, 1)) {
        drop_records(t);
        return true;
    }
    if (records(t))
        publish_buffer(t);
    return new_buffer(t);
}
