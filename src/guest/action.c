/* SPDX-License-Identifier: MIT */
/* The program's signal actions, as it sees them, and ours, as the kernel does; masks and stacks for signals of threads that begin. */
#include "guest/signals.h"

extern const u8 guest_signal[], guest_restorer[];

s64 set_action(u32 sig, const struct action *a)
{
    return kernel(__NR_rt_sigaction, sig, (u64)(uintptr_t)a, 0, 8);
}

static s64 set_our_action(u32 sig, u64 flags)
{
    struct action ours = {.handler = address(guest_signal),
                          .flags = flags | SA_SIGINFO_ | SA_ONSTACK_ | SA_RESTORER_,
                          .restorer = address(guest_restorer),
                          .mask = ~RESERVED};
    return set_action(sig, &ours);
}

static s64 install(u32 sig, const struct action *a)
{
    if (SIG_BIT(sig) & RESERVED)
        return set_our_action(sig, a->flags & SA_RESTART_);
    if (!is_function(a))
        return set_action(sig, a);
    return set_our_action(sig,
                          a->flags & (SA_RESTART_ | SA_NOCLDSTOP_ | SA_NOCLDWAIT_ | SA_RESETHAND_));
}

s64 signal_action(struct thread *t, u32 sig, const struct action *new, struct action *old)
{
    struct sighand *h = sighand(t);
    s64 r = 0;
    lock(h);
    *old = h->action[sig - 1];
    if (new) {
        r = install(sig, new);
        if (r == 0)
            h->action[sig - 1] = *new;
    }
    unlock(h);
    return r;
}

/* The reserved signals, in the order of the places for those that were sent. */
static const u8 sent_order[] = {SIGILL_, SIGTRAP_, SIGBUS_, SIGFPE_, SIGSEGV_, SIGSYS_};

u32 sent_slot(u32 sig)
{
    for (u32 i = 0; i < sizeof sent_order; i++)
        if (sent_order[i] == sig)
            return ARRIVED_SENT + i;
    return ARRIVED_SENT;
}

void queue(u32 sig, const u64 *info)
{
    kernel(__NR_rt_tgsigqueueinfo, (u64)kernel(__NR_getpid, 0, 0, 0, 0),
           (u64)kernel(__NR_gettid, 0, 0, 0, 0), sig, (u64)(uintptr_t)info);
}

void send_again(const struct arrived *a)
{
    queue(a->sig, a->info);
}

static void set_own_stack(const struct thread *t)
{
    struct {
        u64 sp, flags, size;
    } s = {t->self + T_SIGNAL_STACK, 0, T_SIGNAL_STACK_SIZE};
    kernel(__NR_sigaltstack, (u64)(uintptr_t)&s, 0, 0, 0);
}

u64 signal_mask(u64 mask)
{
    u64 old = 0;
    kernel(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, (u64)(uintptr_t)&mask, (u64)(uintptr_t)&old,
           8);
    return old;
}

/* How large the vector state is, until a frame of the kernel's tells. */
static void measure_xstate(struct thread *t)
{
    u32 a = 0xd, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    t->xsize = b;
    t->xextent = b + 4;
    c = 0;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(c));
    t->xfeatures = (u64)d << 32 | a;
}

static void read_actions(struct sighand *h)
{
    for (u32 sig = 1; sig <= 64; sig++)
        kernel(__NR_rt_sigaction, sig, 0, (u64)(uintptr_t)&h->action[sig - 1], 8);
}

static void begin_frames(struct thread *t)
{
    measure_xstate(t);
    t->selectors[0] = CODE64;
    t->selectors[3] = 0x2b;
}

/* The first of the threads takes the program's handlers over. All signals of all of them are blocked until each has begun. */
void signal_begin_attached(struct thread *t)
{
    struct sighand *h = sighand(t);
    lock(h);
    if (!h->taken) {
        read_actions(h);
        for (u32 sig = 1; sig <= 64; sig++)
            if (is_function(&h->action[sig - 1]) || SIG_BIT(sig) & RESERVED)
                install(sig, &h->action[sig - 1]);
        h->taken = 1;
    }
    unlock(h);
    begin_frames(t);
    t->blocked = t->task_mask & RESERVED;
    t->task_mask &= ~RESERVED;
    kernel(__NR_sigaltstack, 0, (u64)(uintptr_t)&t->stack, 0, 0);
    if (t->stack.flags & SS_DISABLE_)
        t->stack.size = 0;
    t->stack.flags &= ~1u; /* whether it is on it now follows from rsp */
    signal_begin_thread(t);
}

void signal_begin_process(struct thread *t)
{
    struct sighand *h = sighand(t);
    if (!h->users) { /* not a forked child, which has its maker's */
        h->users = 1;
        read_actions(h);
        begin_frames(t);
        t->task_mask = signal_mask(~0ull);
        t->blocked = t->task_mask & RESERVED;
        t->task_mask &= ~RESERVED;
        t->held = HELD_back;
    }
    for (u32 i = 0; i < sizeof sent_order; i++)
        set_our_action(sent_order[i], h->action[sent_order[i] - 1].flags & SA_RESTART_);
    signal_begin_thread(t);
}

void signal_begin_thread(struct thread *t)
{
    set_own_stack(t);
}

static bool copy_actions(struct thread *x, const struct thread *t)
{
    struct control *c = control(t);
    struct sighand *h = sighand(t);
    for (u32 i = 0; i < SIGHANDS; i++) {
        u32 no = 0;
        if (!__atomic_compare_exchange_n(&c->sighand[i].users, &no, 1, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        lock(h);
        for (u32 k = 0; k < 64; k++)
            c->sighand[i].action[k] = h->action[k];
        unlock(h);
        c->sighand[i].lock = 0;
        x->sighand = i;
        return true;
    }
    return false;
}

bool signal_inherit(struct thread *x, const struct thread *t, bool shared)
{
    x->sighand = t->sighand;
    x->blocked = t->blocked;
    x->task_mask = t->task_mask;
    x->xfeatures = t->xfeatures;
    x->xsize = t->xsize;
    x->xextent = t->xextent;
    for (u32 i = 0; i < 4; i++)
        x->selectors[i] = t->selectors[i];
    x->pending = x->stepping = x->traced = x->has_call_mask = x->swapped = x->left = x->parked = x->interrupted = 0;
    x->resting = x->credit = 0;
    x->traps = x->dispatches = 0;
    x->stays = 0;
    x->called = x->between = 0;
    x->room = 0;
    x->stack.sp = x->stack.size = 0;
    x->stack.flags = SS_DISABLE_;
    if (!shared)
        return copy_actions(x, t);
    __atomic_fetch_add(&sighand(t)->users, 1, __ATOMIC_RELAXED);
    return true;
}

void signal_leave(struct thread *t)
{
    if (!t->left)
        __atomic_fetch_sub(&sighand(t)->users, 1, __ATOMIC_RELEASE);
}

/* A new program inherits what is ignored and what is blocked. */
void signal_before_exec(struct thread *t)
{
    const struct sighand *h = sighand(t);
    for (u32 i = 0; i < sizeof sent_order; i++)
        if (h->action[sent_order[i] - 1].handler == 1)
            set_action(sent_order[i], &h->action[sent_order[i] - 1]);
    if (t->blocked)
        signal_mask(signal_mask(~0ull) | t->blocked);
}

void signal_after_exec(struct thread *t)
{
    const struct sighand *h = sighand(t);
    for (u32 i = 0; i < sizeof sent_order; i++)
        set_our_action(sent_order[i], h->action[sent_order[i] - 1].flags & SA_RESTART_);
    if (t->blocked)
        signal_mask(signal_mask(~0ull) & ~RESERVED);
}

void restore_actions(const struct sighand *h)
{
    for (u32 sig = 1; sig <= 64; sig++) {
        struct action now = {0};
        kernel(__NR_rt_sigaction, sig, 0, (u64)(uintptr_t)&now, 8);
        if (now.handler == address(guest_signal))
            set_action(sig, &h->action[sig - 1]);
    }
}

/* A task that runs natively begins, on its maker's block, which it may only read. One that shares its
 * maker's actions, which are ours, keeps all signals blocked: it has no block to take them on. */
void on_native_task(const struct thread *t)
{
    if (t->shares)
        return;
    restore_actions(sighand(t));
    kernel(__NR_sigaltstack, (u64)(uintptr_t)&t->stack, 0, 0, 0);
    signal_mask((t->task_mask & ~RESERVED) | t->blocked);
}

/* Forget the action of a handler that wants to run once; a copy of what it was. */
struct action use_action(struct sighand *h, u32 sig)
{
    lock(h);
    struct action a = h->action[sig - 1];
    if (is_function(&a) && a.flags & SA_RESETHAND_)
        h->action[sig - 1].handler = 0;
    unlock(h);
    return a;
}

/* Threads leave one by one, and those still here need our handlers: the last one gives the program its
 * own actions. Until then the signals of those that have left are passed on to them. */
void leave_actions(struct thread *t)
{
    struct sighand *h = sighand(t);
    lock(h);
    if (__atomic_sub_fetch(&h->users, 1, __ATOMIC_ACQ_REL) == 0)
        restore_actions(h);
    unlock(h);
    t->left = 1;
}
