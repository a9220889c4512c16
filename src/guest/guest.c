/* SPDX-License-Identifier: MIT */
/* What lives inside the program: asking the host, and the entries from emitted code. No heap, no
 * libc, no state but the shared pages; nothing here may fault, spin without end or print. See
 * docs/guest.md. */
#include "guest/guest.h"

/* -- Leaving ---------------------------------------------------------------------------------- */

_Noreturn void leave_for_native(struct thread *t, enum native_reason why)
{
    u64 slot[RECORD_native_slots] = {why, time_stamp(t)};
    if (t->buffer != NO_BUFFER && records(t) && !host_is_gone(t)) {
        put_record(t, RECORD_native, RECORD_native_slots, slot);
        hand_over_buffer(t);
    }
    if (why == NATIVE_full)
        __atomic_fetch_add(&control(t)->untraced, 1, __ATOMIC_RELAXED);
    if (why != NATIVE_dying)
        signal_go_native(t);
    if (!records(t))
        t->app_r11 = t->ptr;
    leave_native(0, 0, t->selectors[0]);
}

/* -- Requests ---------------------------------------------------------------------------------- */

static void post(struct thread *t, enum request_kind kind, u64 arg, u64 end)
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
}

/* Sleep until there is an answer, but not so long that waking up could be too late. */
static void sleep_for_answer(struct thread *t, u64 left)
{
    const struct control *c = control(t);
    u64 margin = c->tick_rate / 2000;
    s64 ns = LONGEST_WAIT;
    if (left != NO_DEADLINE && left < c->tick_rate / 20 + margin)
        ns = left > margin ? (s64)((left - margin) * 1000000 / (c->tick_rate / 1000)) : 0;
    if (ns)
        futex_wait_for(&t->req_state, REQ_POSTED, ns);
    else
        pause();
}

/* Is there an answer? Not if the host is gone, or before this time. */
static bool await_answer(struct thread *t, u64 until)
{
    for (u32 i = 0; load_acquire(&t->req_state) == REQ_POSTED; i++) {
        u64 left = until;
        if (until != NO_DEADLINE) {
            u64 now = time_stamp(t);
            left = until - MIN(now, until);
        }
        if (!left || (i >= control(t)->spin && host_is_gone(t)))
            return false;
        if (i < control(t)->spin)
            pause();
        else
            sleep_for_answer(t, left);
    }
    return true;
}

void finish_request(struct thread *t)
{
    await_answer(t, NO_DEADLINE);
}

/* Ask the host; 0 if it refuses or is gone. */
u64 ask_range(struct thread *t, enum request_kind kind, u64 arg, u64 end)
{
    finish_request(t);
    post(t, kind, arg, end);
    return await_answer(t, NO_DEADLINE) ? t->answer : 0;
}

u64 ask(struct thread *t, enum request_kind kind, u64 arg)
{
    bool waits = budget_waits(t);
    u64 answer = ask_range(t, kind, arg, 0);
    if (waits)
        budget_begin(t);
    return answer;
}

/* Where the host says; what it cannot translate runs natively, one instruction at a time. */
static void go_to(struct thread *t, u64 answer)
{
    t->resume = answer;
    t->known = t->answer_epoch;
    if (answer == ANSWER_LEAVE)
        leave_for_native(t, NATIVE_full);
    if (answer)
        return;
    if (host_is_gone(t))
        leave_for_native(t, NATIVE_host_gone);
    step_native(t);
}

/* -- Entries from emitted code ----------------------------------------------------------------- */

bool goes_on_with_call(const struct thread *t)
{
    u16 insn;
    return t->regs[RAX] == __NR_restart_syscall && !copy_in(&insn, t->pc, 2) && insn == 0x050f;
}

/* The host has closed all gates, so that everybody comes by here. Who waits in a system call is led out by the host; a signal is delivered
 * first. */
static void leave_if_told(struct thread *t)
{
    if (load_relaxed(&control(t)->leaving) && !t->pending && !goes_on_with_call(t))
        leave_for_native(t, NATIVE_told);
}

/* -- Versions ---------------------------------------------------------------------------------- */

/* Where code decides, that of a quiet thread does so itself: here it can only be silenced. */
static bool should_be_quiet(const struct thread *t)
{
    const struct control *c = control(t);
    if (c->selection == SELECT_all) /* there is nothing else */
        return false;
    if (!t->armed)
        return true;
    switch (c->selection) {
    case SELECT_places:
        return t->quiet;
    case SELECT_scopes:
        return t->entered == ENTERED_NONE;
    default:
        return false;
    }
}

static void look_around(struct thread *t)
{
    bool is_spent = budget_is_spent(t); /* whether or not the window is open: the period is known from here on */
    t->was_open = load_relaxed(&control(t)->open);
    t->armed = t->was_open && !is_spent;
    bool lacks_room = t->quiet ? !has_room_for_stack(t) : buffer_is_full(t);
    if (t->armed && control(t)->budget && lacks_room && (buffer_would_wait(t) || !swap_buffer(t))) {
        budget_give_up(t);
        t->armed = false;
    }
}

/* The version of a thread that begins at t->pc. */
static void choose_version(struct thread *t)
{
    t->deadline = NO_DEADLINE;
    look_around(t);
    t->quiet = control(t)->selection == SELECT_places;
    t->quiet = should_be_quiet(t);
    budget_begin(t);
}

bool follow_window(struct thread *t)
{
    look_around(t);
    u32 quiet = should_be_quiet(t);
    if (quiet == t->quiet) {
        if (quiet)
            budget_stop(t);
        else if (t->deadline == NO_DEADLINE)
            budget_begin(t);
        return false;
    }
    if (!quiet && !has_room_for_stack(t) && !buffer_would_wait(t) && !swap_buffer(t))
        leave_for_native(t, NATIVE_host_gone);
    t->quiet = quiet;
    if (!quiet) {
        put_resumed(t);
        budget_begin(t);
        put_stack(t);
    }
    return true;
}

void on_start(struct thread *t)
{
    if (control(t)->attached)
        signal_begin_attached(t);
    else
        signal_begin_process(t);
    choose_version(t);
    if (!new_buffer(t))
        leave_for_native(t, NATIVE_host_gone);
    release_signals(t);
    if (control(t)->attached && tells(t))
        put_stack(t);
    go_on(t);
}

/* t->pc, in the version that the thread runs. */
static u64 key(const struct thread *t)
{
    return t->quiet ? t->pc | PC_QUIET : t->pc;
}

static u64 exit_target(const struct thread *t)
{
    const u64 *target = (const u64 *)(const void *)(wire(t) + WIRE_TARGET_OFF);
    return target[t->reason & (EXIT_ID_LIMIT - 1)];
}

#define VSYSCALL_PAGE 0xffffffffff600000ull

/* Does a thread that is here for another reason, and only then looks at its budget, change its version? */
static bool changes_version(struct thread *t)
{
    if (control(t)->policy != POLICY_tc || !control(t)->budget)
        return false;
    bool changed = follow_window(t);
    set_limit(t); /* it may be armed now, and record without coming here */
    if (changed)
        go_on(t);
    return changed;
}

/* There is no time left to wait for a translation: go on quietly. */
static void give_up(struct thread *t)
{
    budget_give_up(t);
    follow_window(t);
    set_limit(t);
    if (rest_is_due(t))
        rest_begin(t);
    go_on(t);
}

/* Code that has not been translated. The host may be kept from answering in time; who can do without an answer does not wait for one. */
static void request(struct thread *t, enum request_kind kind, u64 arg)
{
    if (!budget_affords_request(t)) {
        give_up(t);
        return;
    }
    rest_unless_worth(t);
    u64 began = time_stamp(t);
    bool stopped = budget_waits(t);
    finish_request(t);
    post(t, kind, arg, 0);
    bool is_answered = await_answer(t, control(t)->rests && !t->quiet && !stopped ? t->deadline : NO_DEADLINE);
    if (stopped)
        budget_begin(t);
    budget_note_request(t, began);
    if (is_answered || host_is_gone(t))
        go_to(t, is_answered ? t->answer : 0);
    else
        give_up(t);
}

void on_exit(struct thread *t)
{
    t->pc = exit_target(t);
    if (!changes_version(t))
        request(t, REQ_follow_exit, t->reason);
}

/* A new buffer for one that is full; false if there is no host any more. */
static bool make_room(struct thread *t)
{
    if (!buffer_is_full(t) || (control(t)->budget && t->is_spent))
        return true;
    if (!control(t)->budget || !buffer_would_wait(t))
        return swap_buffer(t);
    budget_give_up(t);
    return true;
}

/* Recording units move the pointer, so that it is above the limit at the next gate; quiet ones do not. */
static void stop_at_next_gate(struct thread *t, const struct gate *g)
{
    if (g->inner == g->entry)
        return;
    t->resume = t->reason + (u64)(s64)g->inner;
    store_relaxed(&t->limit, 0);
}

void on_gate(struct thread *t)
{
    const struct gate *g = (const struct gate *)(uintptr_t)t->reason;
    t->n_gates++;
    t->pc = g->pc;
    t->resume = t->reason + (u64)(s64)g->entry;
    if (!make_room(t))
        leave_for_native(t, NATIVE_host_gone);
    if (t->pending)
        deliver(t);
    leave_if_told(t);
    if (runs_by_steps(t))
        step_native(t);
    bool changed = follow_window(t);
    rest_look(t);
    set_limit(t);
    if (!changed && rest_is_due(t))
        rest_begin(t);
    if (changed)
        go_on(t);
    else if (t->quiet && control(t)->budget && control(t)->policy == POLICY_tv)
        stop_at_next_gate(t, g);
}

/* The window opens or closes for all threads. */
static void set_window(struct thread *t, u32 open)
{
    struct control *c = control(t);
    u8 *block = wire(t) + WIRE_THREAD_OFF;
    __atomic_store_n(&c->open, open, __ATOMIC_SEQ_CST);
    for (u32 i = 0; i < MIN(load_acquire(&c->blocks), (u32)WIRE_THREADS); i++, block += WIRE_THREAD_SIZE)
        __atomic_store_n(&((struct thread *)(void *)block)->limit, 0, __ATOMIC_SEQ_CST);
}

static void pass_mark(struct thread *t, u32 number)
{
    u64 slot[RECORD_mark_slots] = {number, time_stamp(t)};
    if (control(t)->by_marks && (number == MARK_start || number == MARK_stop))
        set_window(t, number == MARK_start);
    else if (tells(t))
        put_record(t, RECORD_mark, RECORD_mark_slots, slot);
}

static void pull_trigger(struct thread *t)
{
    struct control *c = control(t);
    u32 left = load_relaxed(&c->countdown);
    while (left && !__atomic_compare_exchange_n(&c->countdown, &left, left - 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
    if (left == 1)
        set_window(t, 1);
}

/* Each is told once, whichever version it is in. */
void on_tell(struct thread *t)
{
    const struct gate *g = (const struct gate *)(uintptr_t)t->reason;
    u64 bytes = 0;
    t->pc = g->pc;
    t->resume = t->reason + (u64)(s64)g->inner;
    bool is_told = t->told == t->pc;
    t->told = 0;
    if (is_told)
        return;
    if (!copy_in(&bytes, t->pc, sizeof bytes) && mark_is(bytes))
        pass_mark(t, (u32)(bytes >> 32) - MARK_MAGIC);
    else
        pull_trigger(t);
    bool changed = follow_window(t);
    set_limit(t);
    if (!changed)
        return;
    t->told = t->pc;
    go_on(t);
}

void on_stale(struct thread *t)
{
    t->pc = ((const struct gate *)(uintptr_t)t->reason)->pc;
    go_to(t, ask_range(t, REQ_code_changed, key(t), t->regs[RSP]));
}

/* Find t->pc in the index, without the host. */
static const struct index_entry *find(const struct thread *t)
{
    const struct index_entry *v =
        (const struct index_entry *)(const void *)(wire(t) + WIRE_INDEX_OFF);
    u32 mask = (1u << WIRE_INDEX_LOG2) - 1;
    u64 wanted = key(t);
    for (u32 i = index_hash(wanted);; i = (i + 1) & mask) {
        u64 pc = load_acquire(&v[i].pc);
        if (!pc || pc == wanted)
            return pc ? &v[i] : 0;
    }
}

static u64 in_cache(const struct thread *t, u32 offset)
{
    return (u64)(uintptr_t)wire(t) + WIRE_CACHE_OFF + offset;
}

/* A call into the vsyscall page, which nobody can read: the kernel makes the system call and returns.
 * Running it there would return natively. */
static void do_vsyscall(struct thread *t)
{
    static const u16 calls[] = {__NR_gettimeofday, __NR_time, __NR_getcpu};
    u64 entry = (t->pc - VSYSCALL_PAGE) >> 10, back;
    if (entry > 2 || t->pc & 1023 || copy_in(&back, t->regs[RSP], 8))
        return;
    s64 result = kernel(calls[entry], t->regs[RDI], t->regs[RSI], t->regs[RDX], 0);
    if (result == -14) /* EFAULT: there it is a fault, and no return */
        return;
    put_stepped(t, t->pc, back);
    t->regs[RAX] = (u64)result;
    t->regs[RSP] += 8;
    t->pc = back;
    put_state(t);
}

/* While everything is being dropped the index is nobody's; the host answers when it has finished. */
void go_on(struct thread *t)
{
    if (t->pc >= VSYSCALL_PAGE)
        do_vsyscall(t);
    leave_if_told(t);
    if (runs_by_steps(t))
        step_native(t);
    u64 epoch = load_acquire(&control(t)->epoch);
    const struct index_entry *x = epoch & 1 ? 0 : find(t);
    u32 entry = x ? load_relaxed(&x->entry) : 0;
    if (!entry && t->quiet) { /* it may have come here to make a system call: it shall not rest before */
        go_to(t, ask(t, REQ_translate_pc, key(t)));
        return;
    }
    if (!entry) {
        request(t, REQ_translate_pc, key(t));
        return;
    }
    t->resume = in_cache(t, entry);
    t->known = epoch;
}

/* The last thing before the cache: what the thread knows must be of the present epoch, and the host
 * must see it inside before it can drop anything else. */
void enter_cache(struct thread *t)
{
    for (;;) {
        u64 now = load_acquire(&control(t)->epoch);
        __atomic_store_n(&t->inside, now, __ATOMIC_SEQ_CST);
        if (t->known == now && load_acquire(&control(t)->epoch) == now)
            return;
        store_relaxed(&t->inside, 0);
        go_on(t);
    }
}

void on_state(struct thread *t)
{
    t->pc = exit_target(t);
    put_state(t);
    go_on(t);
}

/* Where nothing is recorded, the limit is the mask of the jump tables, which grow. Whoever closes the gate meanwhile has closed it. */
static void follow_mask(struct thread *t)
{
    u64 was = load_relaxed(&t->limit);
    if (!records(t) && was && was != t->jump_mask)
        __atomic_compare_exchange_n(&t->limit, &was, t->jump_mask, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* Find the unit of t->pc without the host; fill the jump tables' entry for next time. */
static bool fill_entry(struct thread *t, bool is_return)
{
    t->known = load_acquire(&control(t)->epoch);
    const struct index_entry *x = t->known & 1 ? 0 : find(t);
    if (!x)
        return false;
    u32 entry = load_relaxed(&x->entry), door = load_relaxed(is_return ? &x->landing : &x->door);
    if (!entry || !door)
        return false;
    u64 *jump = (u64 *)(uintptr_t)(control(t)->jump + (is_return ? WIRE_JUMP_SIZE : 0) +
                                   (t->quiet ? WIRE_JUMP_PAIR : 0));
    if (records(t) || t->pc & t->jump_mask) /* closed gates lead to the first one: it is the guest's */
        store_relaxed(&jump[t->pc & t->jump_mask], in_cache(t, door));
    follow_mask(t);
    t->resume = in_cache(t, entry);
    return true;
}

/* The same, so that the host knows when nobody holds what he read in the index. */
static bool look_up(struct thread *t, bool is_return)
{
    __atomic_store_n(&t->looking, 1, __ATOMIC_SEQ_CST);
    bool found = fill_entry(t, is_return);
    store_release(&t->looking, 0);
    return found;
}

void on_indirect(struct thread *t)
{
    t->n_indirect_misses++;
    t->pc = t->target;
    if (changes_version(t))
        return;
    if (t->pc >= VSYSCALL_PAGE)
        go_on(t);
    else if (!look_up(t, false))
        request(t, REQ_translate_pc, key(t));
}

void on_landing(struct thread *t)
{
    t->n_return_misses++;
    t->pc = t->target;
    /* The return slot holds a cache address: put back what the program has there. */
    *(u64 *)(uintptr_t)(t->regs[RSP] - 8) = t->pc;
    if (changes_version(t))
        return;
    if (!look_up(t, true))
        request(t, REQ_translate_return, key(t));
}
