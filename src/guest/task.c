/* SPDX-License-Identifier: MIT */
/* Threads and processes that the program makes. */
#include "guest/guest.h"

enum { CLONE_VM_ = 0x100, CLONE_SIGHAND_ = 0x800, CLONE_THREAD_ = 0x10000 };

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
static u64 prepare_thread(struct thread *t, u64 flags)
{
    struct thread *x = claim_block(t);
    struct control *c = control(t);
    if (!x)
        return 1;
    if (!signal_inherit(x, t, flags & CLONE_SIGHAND_)) {
        store_release(&x->in_use, 0);
        return 1;
    }
    for (u32 i = 0; i < 16; i++)
        x->regs[i] = t->regs[i];
    x->regs[RAX] = 0;
    x->regs[RCX] = t->pc;
    x->flags = x->app_r11 = x->ptr = t->flags;
    x->pc = t->pc;
    x->resume = t->resume;
    x->known = t->known;
    x->inside = x->looking = 0;
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
        copy_in(&flags, t->regs[RDI], sizeof flags);
    if ((flags & CLONE_VM_) && (flags & CLONE_THREAD_))
        return prepare_thread(t, flags);
    return 1;
}

/* No signal may meet the new task before it has its own block. */
void before_task(struct thread *t)
{
    u64 mask = signal_mask(~0ull);
    if (t->pending)
        signal_mask(mask);
    else
        t->cloning = prepare_task(t);
    t->task_mask = mask;
}

bool makes_task(u64 nr)
{
    return nr == __NR_fork || nr == __NR_vfork || nr == __NR_clone || nr == __NR_clone3;
}

/* Wait until the new task needs our block no more. It cannot be held up for long on its way there. */
void finish_task(struct thread *t)
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
    signal_mask(t->task_mask);
}

/* The first thing a new thread does here; its registers but rsp are in its block. */
void on_new_thread(struct thread *t)
{
    store_release(&t->started, 1);
    signal_begin_thread(t);
    if (!new_buffer(t))
        leave_for_native(t, NATIVE_host_gone);
}
