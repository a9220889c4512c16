/* SPDX-License-Identifier: MIT */
/* Threads and processes that the program makes.
 *
 * The call is the program's own. Before it, a free block is filled with the registers that the new task
 * will have; the task is handed its address in rbx and needs nothing else of its maker, which does not
 * wait for it. */
#include "guest/guest.h"

enum {
    CLONE_VM_ = 0x100,
    CLONE_SIGHAND_ = 0x800,
    CLONE_VFORK_ = 0x4000,
    CLONE_THREAD_ = 0x10000,
};

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

/* -- Signals ----------------------------------------------------------------------------------- */

/* Nothing may run in a new task before it stands on its own block. (A filter may refuse the call by a
 * signal, though.) */
static void hold_signals(struct thread *t)
{
    t->task_mask = signal_mask(~SIG_BIT(SIGSYS_));
    t->held = HELD_back;
}

void release_signals(struct thread *t)
{
    if (!t->held)
        return;
    t->held = HELD_let_go;
    signal_mask(t->task_mask);
    t->held = HELD_no;
}

/* -- Before ------------------------------------------------------------------------------------ */

static enum task_kind kind_of(u64 flags)
{
    return !(flags & CLONE_VM_) ? TASK_fork : flags & CLONE_THREAD_ ? TASK_thread : TASK_sharer;
}

/* Make a block with which a task made by this system call can start: it resumes where we do. */
static u64 prepare_block(struct thread *t, u64 flags)
{
    struct thread *x = claim_block(t);
    struct control *c = control(t);
    if (!x)
        return 1;
    x->made = kind_of(flags);
    if (!signal_inherit(x, t, flags & CLONE_SIGHAND_)) {
        store_release(&x->in_use, 0);
        return 1;
    }
    if (!(flags & CLONE_VM_) || flags & CLONE_VFORK_)
        x->stack = t->stack;
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
    x->quiet = t->quiet;
    x->armed = t->armed;
    x->was_open = t->was_open;
    x->deadline = NO_DEADLINE;
    x->used = 0;
    x->is_spent = t->is_spent;
    x->period = t->period;
    x->entered = t->entered != ENTERED_NONE && x->made == TASK_thread ? ENTERED_ALWAYS : t->entered;
    x->jump_mask = t->jump_mask;
    x->no_clock = t->no_clock;
    x->req_state = REQ_IDLE;
    x->cloning = 0;
    x->execing = 0;
    x->buffer = NO_BUFFER;
    x->made_by = x->pid = t->pid;
    x->held = HELD_back;
    x->number =
        x->made == TASK_fork ? NO_NUMBER - 1 : __atomic_fetch_add(&c->threads, 1, __ATOMIC_RELAXED);
    t->made_number = x->number;
    t->made_flags = flags;
    note_block(c, x->block);
    return (u64)(uintptr_t)x;
}

static u64 task_flags(const struct thread *t)
{
    u64 flags;
    switch (t->regs[RAX]) {
    case __NR_clone:
        return t->regs[RDI];
    case __NR_clone3:
        return t->regs[RSI] >= 64 && !copy_in(&flags, t->regs[RDI], 8) ? flags : 0;
    case __NR_vfork:
        return CLONE_VM_ | CLONE_VFORK_;
    default:
        return 0;
    }
}

/* Set t->cloning to the new task's block; to 1 if it is to run natively. */
bool before_task(struct thread *t)
{
    u64 flags = task_flags(t);
    hold_signals(t);
    if (t->pending) {
        release_signals(t);
        return false;
    }
    t->shares = (flags & CLONE_SIGHAND_) != 0;
    t->cloning = 1;
    if (kind_of(flags) == TASK_thread || control(t)->follow)
        t->cloning = prepare_block(t, flags);
    return true;
}

bool makes_task(u64 nr)
{
    return nr == __NR_fork || nr == __NR_vfork || nr == __NR_clone || nr == __NR_clone3;
}

/* -- After, in the parent ---------------------------------------------------------------------- */

/* Was a child killed? It is left for the program to find. */
static bool has_ended(u64 pid)
{
    enum { P_PID_ = 1, SI_PID_AT = 3 };
    u32 info[32] = {0};
    u64 how = 4 | 1 | 0x01000000 | 0x40000000; /* WEXITED, WNOHANG, WNOWAIT, __WALL */
    s64 r = kernel6(__NR_waitid, P_PID_, pid, (u64)(uintptr_t)info, how, 0, 0);
    return r == 0 && info[SI_PID_AT] == pid;
}

/* Wait until a task that runs natively needs our block no more. It cannot be held up for long on its way
 * there, and a child of vfork has come there long ago. */
static void wait_for_native(struct thread *t)
{
    while (load_acquire(&t->cloning) && !has_ended(t->result))
        kernel(__NR_sched_yield, 0, 0, 0, 0);
    __atomic_fetch_add(&control(t)->untraced, 1, __ATOMIC_RELAXED);
}

/* A child of vfork that became another image, or was killed, has left its block. One that ended in the
 * normal way has given it back, and it may be another's by now: the number tells. */
static void take_back(struct thread *x, u32 number)
{
    if (!__atomic_compare_exchange_n(&x->number, &number, NO_NUMBER, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    publish_left_buffer(x);
    x->inside = x->looking = 0;
    signal_leave(x);
    store_release(&x->in_use, 0);
}

void finish_task(struct thread *t)
{
    struct thread *x = (struct thread *)(uintptr_t)t->cloning;
    if (t->cloning <= 1) { /* a task that runs natively may have cleared it already */
        if (!failed(t))
            wait_for_native(t);
    } else if (failed(t)) {
        signal_leave(x);
        store_release(&x->in_use, 0);
    } else if (t->made_flags & CLONE_VFORK_ && t->made_flags & CLONE_VM_) {
        take_back(x, t->made_number);
    }
    t->cloning = 0;
    release_signals(t);
}

/* -- In the child ------------------------------------------------------------------------------ */

/* Replace the shared pages by those in the memfd, then start anew; back only if it cannot be done. */
void rewire(u64 jump, u64 fd);

/* What rewire maps, the jump tables first. */
const struct {
    u64 offset, size, prot;
} rewire_parts[] = {{WIRE_JUMP_OFF, WIRE_JUMP_AREA, 3},
#define MAPPED(offset, size, prot) {offset, size, prot},
                    WIRE_PARTS(MAPPED)
#undef MAPPED
};

/* We are a copy of our maker, but for the shared pages: on them there is only our block, which is ours
 * alone. Get pages of our own. */
static void become_process(struct thread *t)
{
    static const char name[] = "gait";
    allow_tracer(t);
    s64 fd = kernel(__NR_memfd_create, (u64)(uintptr_t)name, 1 /* MFD_CLOEXEC */, 0, 0);
    if (fd >= 0) {
        if (ask_range(t, REQ_adopt, t->pid, (u64)fd))
            rewire(control(t)->jump, (u64)fd);
        kernel(__NR_close, (u64)fd, 0, 0, 0);
    }
    leave_for_native(t, host_is_gone(t) ? NATIVE_host_gone : NATIVE_refused);
}

/* The first thing a new task does here; its registers but rsp are in its block. */
void on_new_thread(struct thread *t)
{
    t->tid = (u32)kernel(__NR_gettid, 0, 0, 0, 0);
    if (t->made != TASK_thread)
        t->pid = t->tid;
    if (t->made == TASK_fork)
        become_process(t);
    signal_begin_thread(t);
    if (!new_buffer(t))
        leave_for_native(t, NATIVE_host_gone);
    release_signals(t);
}
