/* SPDX-License-Identifier: MIT */
/* What lives inside the program: asking the host, swapping buffers, passing system calls on. No
 * heap, no libc, no state but the shared pages; nothing here may fault, spin without end or print.
 * See docs/guest.md. */
#include "wire/wire.h"

#include <asm/unistd.h>
#include <linux/futex.h>

/* -- The kernel ------------------------------------------------------------------------------- */

static s64 kernel(u64 nr, u64 a, u64 b, u64 c, u64 d)
{
    s64 r;
    register u64 r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return r;
}

struct seconds {
    s64 sec, nsec;
};

static void futex_wait(u32 *word, u32 seen)
{
    struct seconds limit = {0, 50000000}; /* look around 20 times a second: the host may be gone */
    kernel(__NR_futex, (u64)(uintptr_t)word, FUTEX_WAIT, seen, (u64)(uintptr_t)&limit);
}

static void futex_wake(u32 *word)
{
    kernel(__NR_futex, (u64)(uintptr_t)word, FUTEX_WAKE, 1, 0);
}

static u64 time_stamp(void)
{
    u32 lo, hi;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return (u64)hi << 32 | lo;
}

static void pause(void)
{
    __asm__ volatile("pause");
}

/* -- Shared pages ----------------------------------------------------------------------------- */

static u8 *wire(const struct thread *t)
{
    return (u8 *)(uintptr_t)(t->self - WIRE_THREAD_OFF - (u64)t->block * WIRE_THREAD_SIZE);
}

static struct control *control(const struct thread *t)
{
    return (struct control *)(wire(t) + WIRE_CTL_OFF);
}

static bool host_is_gone(const struct thread *t)
{
    return load_relaxed(&control(t)->host_life) & FUTEX_OWNER_DIED;
}

/* -- Records ---------------------------------------------------------------------------------- */

/* Gates leave room for a unit and a few of these, so no check is needed here. */
static void put_record(struct thread *t, u32 id, u32 n, const u64 *slot)
{
    u8 *p = (u8 *)(uintptr_t)t->ptr;
    for (u32 i = 0; i < n; i++)
        *(u64 *)(void *)(p + RECORD_SLOTS_AT + 8 * i) = slot[i];
    store_release((u32 *)(void *)p,
                  id << RECORD_ID_SHIFT | n); /* last: a record exists once its header does */
    t->ptr += RECORD_SLOTS_AT + 8 * n;
}

static bool records(const struct thread *t)
{
    return control(t)->events != EVENTS_none;
}

static u64 fs_base(void)
{
    u64 v;
    __asm__ volatile("rdfsbase %0" : "=r"(v));
    return v;
}

static void put_state(struct thread *t)
{
    u64 slot[RECORD_state_slots] = {t->regs[RSP], fs_base(), t->app_gs, time_stamp()};
    if (records(t))
        put_record(t, RECORD_state, RECORD_state_slots, slot);
}

static void put_syscall(struct thread *t, u64 nr)
{
    u64 slot[RECORD_syscall_slots] = {nr, t->result, time_stamp()};
    if (records(t))
        put_record(t, RECORD_syscall, RECORD_syscall_slots, slot);
}

/* -- Buffers ---------------------------------------------------------------------------------- */

static u64 buffer_start(const struct thread *t, u32 i)
{
    return (u64)(uintptr_t)wire(t) + WIRE_BUF_OFF + (u64)i * control(t)->buffer_size;
}

/* Hand the buffer over to the host. */
static void publish_buffer(struct thread *t)
{
    struct control *c = control(t);
    store_relaxed(&c->length[t->buffer], (u32)(t->ptr - buffer_start(t, t->buffer)));
    u64 seq = __atomic_fetch_add(&c->published, 1, __ATOMIC_SEQ_CST);
    store_release(&c->ring[seq % BUFFER_RING], (seq + 1) << 16 | t->buffer);
    __atomic_fetch_add(&c->drain_bell, 1, __ATOMIC_SEQ_CST);
    if (load_relaxed(&c->drain_sleeps))
        futex_wake(&c->drain_bell);
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
            store_relaxed(&c->owner[t->buffer], t->number + 1);
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

static bool window_is_open(const struct control *c)
{
    return load_acquire(&c->published) - load_acquire(&c->returned) < c->window;
}

/* Get an empty buffer, waiting for the host to drain some if need be; false if there is no host any
 * more. No spinning: whoever is to free a buffer may need this core. */
static bool wait_for_buffer(struct thread *t)
{
    struct control *c = control(t);
    if (!window_is_open(c)) {
        c->n_waits++;
        __atomic_fetch_add(&c->guest_waits, 1, __ATOMIC_SEQ_CST);
        for (;;) {
            u32 seen = load_acquire(&c->free_bell);
            if (window_is_open(c) || host_is_gone(t))
                break;
            futex_wait(&c->free_bell, seen);
        }
        __atomic_fetch_sub(&c->guest_waits, 1, __ATOMIC_SEQ_CST);
    }
    return !host_is_gone(t) && claim_buffer(t);
}

static bool new_buffer(struct thread *t)
{
    if (!records(t)) { /* r11 is not stolen then; t->ptr is just what the register holds */
        t->limit = ~0ull;
        return true;
    }
    if (!wait_for_buffer(t))
        return false;
    t->ptr = buffer_start(t, t->buffer);
    t->limit = t->ptr + control(t)->buffer_size - BUFFER_SLACK;
    put_state(t);
    return true;
}

static bool swap_buffer(struct thread *t)
{
    if (records(t))
        publish_buffer(t);
    return new_buffer(t);
}

/* -- Leaving ---------------------------------------------------------------------------------- */

_Noreturn void leave_native(void);

/* Go on in the program's own code at t->pc; nothing of us is needed after this. */
static _Noreturn void go_native(struct thread *t, enum native_reason why)
{
    u64 slot[RECORD_native_slots] = {why, time_stamp()};
    if (records(t) && !host_is_gone(t)) {
        put_record(t, RECORD_native, RECORD_native_slots, slot);
        publish_buffer(t);
    }
    if (!records(t))
        t->app_r11 = t->ptr;
    u64 *below = (u64 *)(uintptr_t)(t->regs[RSP] - 136);
    below[0] = t->pc;
    below[-1] = t->regs[RAX];
    leave_native();
}

/* -- Requests --------------------------------------------------------------------------------- */

/* Ask the host; 0 if it refuses or is gone. */
static u64 ask_range(struct thread *t, enum request_kind kind, u64 arg, u64 end)
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

static u64 ask(struct thread *t, enum request_kind kind, u64 arg)
{
    return ask_range(t, kind, arg, 0);
}

static void go_to(struct thread *t, u64 answer)
{
    if (!answer)
        go_native(t, host_is_gone(t) ? NATIVE_host_gone : NATIVE_refused);
    t->resume = answer;
}

/* -- Entries from emitted code ---------------------------------------------------------------- */

void on_start(struct thread *t)
{
    if (!new_buffer(t))
        go_native(t, NATIVE_host_gone);
    go_to(t, ask(t, REQ_translate_pc, t->pc));
}

void on_exit(struct thread *t)
{
    const u64 *target = (const u64 *)(const void *)(wire(t) + WIRE_TARGET_OFF);
    t->pc = target[t->reason & (EXIT_ID_LIMIT - 1)];
    go_to(t, ask(t, REQ_follow_exit, t->reason));
}

void on_gate(struct thread *t)
{
    t->n_gates++;
    /* The unit's own pc is not known here, but a host that is gone only ends recording: without a
     * buffer the thread goes on in the cache until it next needs the host. */
    if (!swap_buffer(t)) {
        t->ptr = buffer_start(t, t->buffer);
        t->limit = t->ptr + control(t)->buffer_size - BUFFER_SLACK;
    }
    t->resume = t->reason;
}

void on_state(struct thread *t)
{
    put_state(t);
    t->resume = t->reason;
}

/* Find the unit of t->pc without the host; fill the jump tables' entries for next time. */
static u64 look_up(struct thread *t, bool is_return)
{
    const struct index_entry *v =
        (const struct index_entry *)(const void *)(wire(t) + WIRE_INDEX_OFF);
    u32 mask = (1u << WIRE_INDEX_LOG2) - 1;
    for (u32 i = index_hash(t->pc);; i = (i + 1) & mask) {
        u64 pc = load_acquire(&v[i].pc);
        if (!pc)
            return 0;
        if (pc != t->pc)
            continue;
        u64 cache = (u64)(uintptr_t)wire(t) + WIRE_CACHE_OFF;
        u32 entry = load_relaxed(&v[i].entry),
            door = load_relaxed(is_return ? &v[i].landing : &v[i].door);
        if (!entry || !door)
            return 0;
        u64 *jump = (u64 *)(uintptr_t)(control(t)->jump + (is_return ? WIRE_JUMP_SIZE : 0));
        store_relaxed(&jump[pc & t->jump_mask], cache + door);
        return cache + entry;
    }
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

/* -- Threads ---------------------------------------------------------------------------------- */

enum { CLONE_VM_ = 0x100, CLONE_THREAD_ = 0x10000 };

static struct thread *block_at(const struct thread *t, u32 i)
{
    return (struct thread *)(void *)(wire(t) + WIRE_THREAD_OFF + (u64)i * WIRE_THREAD_SIZE);
}

static struct thread *claim_block(struct thread *t)
{
    for (u32 i = 0; i < WIRE_THREADS; i++) {
        struct thread *x = block_at(t, i);
        u32 no = 0;
        if (load_relaxed(&x->in_use) == 0 &&
            __atomic_compare_exchange_n(&x->in_use, &no, 1, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            x->block = i;
            return x;
        }
    }
    return 0;
}

static void note_block(struct control *c, u32 block)
{
    u32 high = load_relaxed(&c->blocks);
    while (high <= block && !__atomic_compare_exchange_n(&c->blocks, &high, block + 1, false,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* Make a block with which a thread made by this system call can start: it resumes where we do. */
static u64 prepare_thread(struct thread *t)
{
    struct thread *x = claim_block(t);
    struct control *c = control(t);
    if (!x)
        return 1;
    for (u32 i = 0; i < 16; i++)
        x->regs[i] = t->regs[i];
    x->regs[RAX] = 0;
    x->regs[RCX] = t->pc;
    x->flags = x->app_r11 = x->ptr = t->flags;
    x->pc = t->pc;
    x->resume = t->resume;
    x->self = t->self + ((u64)x->block - (u64)t->block) * WIRE_THREAD_SIZE;
    x->app_gs = t->app_gs;
    x->jump_mask = t->jump_mask;
    x->req_state = REQ_IDLE;
    x->cloning = 0;
    x->started = 0;
    x->number = __atomic_fetch_add(&c->threads, 1, __ATOMIC_RELAXED);
    note_block(c, x->block);
    return (u64)(uintptr_t)x;
}

/* What a task-making call is to make: a block for a thread of this process, 1 for anything else. */
static u64 prepare_task(struct thread *t)
{
    u64 flags = 0, nr = t->regs[RAX];
    if (nr == __NR_clone)
        flags = t->regs[RDI];
    else if (nr == __NR_clone3 && t->regs[RDI] && t->regs[RSI] >= 64)
        flags = *(const u64 *)(uintptr_t)t->regs[RDI];
    if ((flags & CLONE_VM_) && (flags & CLONE_THREAD_))
        return prepare_thread(t);
    return 1;
}

static bool makes_task(u64 nr)
{
    return nr == __NR_fork || nr == __NR_vfork || nr == __NR_clone || nr == __NR_clone3;
}

static bool failed(const struct thread *t)
{
    return t->result > (u64)-4096;
}

/* Wait until the new task needs our block no more. It cannot be held up for long on its way there. */
static void finish_task(struct thread *t)
{
    struct thread *x = (struct thread *)(uintptr_t)t->cloning;
    if (t->cloning <= 1) { /* a child of vfork has cleared it long ago */
        while (!failed(t) && load_acquire(&t->cloning))
            kernel(__NR_sched_yield, 0, 0, 0, 0);
        if (!failed(t))
            __atomic_fetch_add(&control(t)->untraced, 1, __ATOMIC_RELAXED);
    } else if (failed(t)) {
        store_release(&x->in_use, 0);
    } else {
        while (!load_acquire(&x->started))
            kernel(__NR_sched_yield, 0, 0, 0, 0);
    }
    t->cloning = 0;
}

/* The first thing a new thread does here; its registers but rsp are in its block. */
void on_new_thread(struct thread *t)
{
    store_release(&t->started, 1);
    if (!new_buffer(t))
        go_native(t, NATIVE_host_gone);
}

/* -- System calls ----------------------------------------------------------------------------- */

enum { ARCH_SET_GS_ = 0x1001, ARCH_SET_FS_ = 0x1002, ARCH_GET_GS_ = 0x1004, PROT_EXEC_ = 4 };

/* gs is ours: the program's is a number in the thread block. */
static bool emulate_arch_prctl(struct thread *t)
{
    u64 code = t->regs[RDI], addr = t->regs[RSI];
    t->result = 0;
    if (code == ARCH_SET_GS_) {
        if (addr >> 47)
            t->result =
                (u64)-1; /* EPERM, as the kernel says of an address that is not the program's */
        else
            t->app_gs = addr;
        return true;
    }
    if (code == ARCH_GET_GS_) {
        *(u64 *)(uintptr_t)addr = t->app_gs;
        return true;
    }
    return false;
}

/* What is to become of a system call. The numbers are known to entry.S. */
enum call { CALL_DO, CALL_DONE /* its result is in t->result */, CALL_EXIT /* the thread ends */ };

enum call before_syscall(struct thread *t)
{
    t->n_syscalls++;
    switch (t->regs[RAX]) {
    case __NR_arch_prctl:
        return emulate_arch_prctl(t) ? CALL_DONE : CALL_DO;
    case __NR_rseq:
        /* A critical section runs from the cache under other addresses than the kernel would look
         * for. */
        t->result = (u64)-38; /* ENOSYS */
        return CALL_DONE;
    case __NR_exit:
    case __NR_exit_group:
        if (records(t))
            publish_buffer(t);
        return t->regs[RAX] == __NR_exit ? CALL_EXIT : CALL_DO;
    case __NR_execve:
    case __NR_execveat:
        swap_buffer(t); /* if the call succeeds, what was not handed over is gone */
        return CALL_DO;
    default:
        if (makes_task(t->regs[RAX]))
            t->cloning = prepare_task(t);
        return CALL_DO;
    }
}

static bool has_code(const struct thread *t, u64 start, u64 end)
{
    const struct control *c = control(t);
    if (c->n_code > CODE_RANGES)
        return true;
    for (u32 i = 0; i < c->n_code; i++)
        if (c->code[i].start < end && start < c->code[i].end)
            return true;
    return false;
}

/* Code may have come, changed or gone: the host must know before the next instruction. */
static void tell_range(struct thread *t, u64 start, u64 length, bool executable)
{
    if (executable || has_code(t, start, start + length))
        ask_range(t, REQ_memory_changed, start, start + length);
}

static void tell_memory(struct thread *t, u64 nr)
{
    bool executable = t->regs[RDX] & PROT_EXEC_;
    switch (nr) {
    case __NR_mmap:
        tell_range(t, t->result, t->regs[RSI], executable);
        break;
    case __NR_mprotect:
    case __NR_pkey_mprotect:
        tell_range(t, t->regs[RDI], t->regs[RSI], executable);
        break;
    case __NR_munmap:
        tell_range(t, t->regs[RDI], t->regs[RSI], false);
        break;
    case __NR_mremap:
        tell_range(t, t->regs[RDI], t->regs[RSI], false);
        tell_range(t, t->result, t->regs[RDX],
                   has_code(t, t->regs[RDI], t->regs[RDI] + t->regs[RSI]));
        break;
    default:
        break;
    }
}

void after_syscall(struct thread *t)
{
    u64 nr = t->regs[RAX];
    if (makes_task(nr))
        finish_task(t);
    put_syscall(t, nr);
    if (nr == __NR_arch_prctl)
        put_state(t);
    if (!failed(t))
        tell_memory(t, nr);
    t->regs[RAX] = t->result;
    t->regs[RCX] = t->pc;
    if (records(t))
        t->app_r11 = t->flags;
    else
        t->ptr = t->flags;
}
