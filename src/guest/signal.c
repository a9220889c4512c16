/* SPDX-License-Identifier: MIT */
/* Signals: the kernel keeps queues, masks and default actions; what the program handles comes to us
 * first.
 *
 * A signal that somebody sent is noted and delivered at the next gate: the mask in our own frame is
 * filled, so that no other can arrive before, and the limit closes the gate. A fault is delivered
 * where it is; the host knows which instruction that was. Reserved signals, those of faults, are
 * never blocked in the kernel; the program's wish to block them is kept here.
 *
 * One way in: deliver() makes the frame that the kernel would make and enters the handler by
 * rt_sigreturn from a context of our own, so that mask, vector state and registers change at once.
 * One way back: the program's rt_sigreturn, whose context we take over. Nothing of ours is kept per
 * handler, so a handler may leave as it likes. */
#include "guest/guest.h"
#include "guest/frame.h"

enum { TRAP_TRACE_ = 2, SYS_USER_DISPATCH_ = 2, SI_KERNEL_ = 0x80 };
enum { FLAG_AC = 0x40000, FLAG_TF = 0x100, FLAG_DF = 0x400, FLAG_RF = 0x10000 };
#define FLAGS_OF_CONTEXT \
    0x50dd5ul /* what rt_sigreturn takes from a context: AC RF OF DF TF SF ZF AF PF CF */

extern const u8 guest_signal[], guest_restorer[], guest_fault[], guest_reenter[], guest_abandon[],
    guest_continue[], call_window[], guest_syscall_insn[], call_returned[], task_returned[],
    guard_begin[], guard_end[], guard_fault[], guest_head[];
u32 xsave_guarded(u64 to, u64 features);
_Noreturn void enter_context(const struct context *c);
_Noreturn void enter_native(const struct context *c, u64 gs);

static u64 address(const u8 *label)
{
    return (u64)(uintptr_t)label;
}

/* -- Actions ----------------------------------------------------------------------------------- */

static struct sighand *sighand(const struct thread *t)
{
    return &control(t)->sighand[t->sighand % SIGHANDS];
}

static void lock(struct sighand *h)
{
    while (__atomic_exchange_n(&h->lock, 1, __ATOMIC_ACQUIRE))
        kernel(__NR_sched_yield, 0, 0, 0, 0);
}

static void unlock(struct sighand *h)
{
    store_release(&h->lock, 0);
}

static s64 set_action(u32 sig, const struct action *a)
{
    return kernel(__NR_rt_sigaction, sig, (u64)(uintptr_t)a, 0, 8);
}

static bool is_function(const struct action *a)
{
    return a->handler > 1; /* not SIG_DFL, not SIG_IGN */
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

static u32 sent_slot(u32 sig)
{
    for (u32 i = 0; i < sizeof sent_order; i++)
        if (sent_order[i] == sig)
            return ARRIVED_SENT + i;
    return ARRIVED_SENT;
}

static void queue(u32 sig, const u64 *info)
{
    kernel(__NR_rt_tgsigqueueinfo, (u64)kernel(__NR_getpid, 0, 0, 0, 0),
           (u64)kernel(__NR_gettid, 0, 0, 0, 0), sig, (u64)(uintptr_t)info);
}

static void send_again(const struct arrived *a)
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
        t->held = 1;
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

static void restore_actions(const struct sighand *h)
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

/* -- Arrival: on the signal stack, anything may have been interrupted -------------------------- */

static void note_arrived(struct thread *t, u32 slot, u32 sig, const u64 *info,
                         const struct context *c)
{
    struct arrived *a = &t->arrived[slot];
    a->sig = sig;
    a->made = 0;
    a->err = c->r.err;
    a->trapno = c->r.trapno;
    a->cr2 = c->r.cr2;
    for (u32 i = 0; i < 16; i++)
        a->info[i] = info[i];
}

/* What the kernel's frame says about frames. */
static void note_frame(struct thread *t, const struct context *c)
{
    const struct software *s = (const struct software *)(uintptr_t)(c->r.fpstate + SW_AT);
    for (u32 i = 0; i < 4; i++)
        t->selectors[i] = c->r.selectors[i];
    if (c->r.fpstate && s->magic == XSTATE_MAGIC1) {
        t->xfeatures = s->features;
        t->xsize = s->size;
        t->xextent = s->extent;
    }
}

/* Registers as they are in the frame; r11 goes where it belongs. */
static void take_registers(struct thread *t, const struct context *c)
{
    const struct registers *r = &c->r;
    const u64 regs[16] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
                          r->r8,  r->r9,  r->r10, 0,      r->r12, r->r13, r->r14, r->r15};
    for (u32 i = 0; i < 16; i++)
        t->regs[i] = regs[i];
    t->flags = r->flags & ~(u64)FLAG_TF;
}

static void take_context(struct thread *t, const struct context *c)
{
    take_registers(t, c);
    *(records(t) ? &t->app_r11 : &t->ptr) = c->r.r11;
    t->pc = c->r.rip;
}

static void take_native(struct thread *t, const struct context *c, u64 gs)
{
    take_context(t, c);
    t->app_gs = gs;
}

/* Go on in the guest when the handler returns. */
static bool send_to(struct thread *t, struct context *c, const u8 *where)
{
    c->r.rip = address(where);
    c->r.rsp = t->self + T_STACK_TOP;
    c->r.flags = 0x202;
    c->r.selectors[0] = CODE64;
    return true;
}

static bool is_within(u64 pc, u64 start, u64 size)
{
    return pc - start < size;
}

static bool is_in_cache(const struct thread *t, u64 pc)
{
    return is_within(pc, (u64)(uintptr_t)wire(t) + WIRE_CACHE_OFF, WIRE_CACHE_SIZE);
}

static bool is_native(const struct thread *t, u64 pc)
{
    return !is_within(pc, (u64)(uintptr_t)wire(t), WIRE_SIZE);
}

/* The signal of an instruction. */
static bool take_fault(struct thread *t, u32 sig, const u64 *info, struct context *c, u64 gs)
{
    u64 pc = c->r.rip;
    u32 code = (u32)info[1];
    bool trace = sig == SIGTRAP_ && code == TRAP_TRACE_;
    if (is_within(pc, address(guard_begin), address(guard_end) - address(guard_begin))) {
        c->r.rip = address(guard_fault);
        return false;
    }
    if (trace &&
        !is_native(t, pc)) { /* the program's popf set the trap flag: from the next gate on */
        c->r.flags &= ~(u64)FLAG_TF;
        t->traced = 1;
        t->limit = 0;
        return false;
    }
    if (sig == SIGSYS_ && code == SYS_USER_DISPATCH_ && is_native(t, pc)) { /* a system call of a thread that rests: now from the cache */
        take_native(t, c, gs);
        t->pc -= 2;
        return send_to(t, c, guest_reenter);
    }
    if (trace && t->resting)
        t->traced = (c->r.flags & FLAG_TF) != 0;
    if (trace && t->stepping) {
        t->stepping = STEP_DONE;
        if (t->traced) {
            note_arrived(t, ARRIVED_FAULT, sig, info, c);
            t->pending |= 1u << ARRIVED_FAULT;
            t->traced = (c->r.flags & FLAG_TF) != 0;
        }
        take_native(t, c, gs);
        return send_to(t, c, guest_reenter);
    }
    note_arrived(t, ARRIVED_FAULT, sig, info, c);
    if (is_in_cache(t, pc)) {
        take_registers(t, c);
        t->ptr = c->r.r11;
        t->reason = pc;
        return send_to(t, c, guest_fault);
    }
    t->pending |= 1u << ARRIVED_FAULT;
    if (is_native(t, pc)) {
        take_native(t, c, gs);
        return send_to(t, c, guest_reenter);
    }
    if (sig == SIGSYS_ && (pc == address(call_returned) || pc == address(task_returned)))
        return send_to(t, c, guest_abandon);
    /* Our own fault: the process dies of it. */
    struct action none = {0};
    set_action(sig, &none);
    return false;
}

/* The signal of somebody. A reserved one that the program blocks goes back to the kernel, blocked
 * there too from now on, so that it can be waited for and fetched as ever. */
static void take_sent(struct thread *t, u32 sig, const u64 *info, struct context *c)
{
    if (t->blocked & SIG_BIT(sig)) {
        c->mask |= SIG_BIT(sig);
        queue(sig, info);
        return;
    }
    if (SIG_BIT(sig) & RESERVED) {
        u32 slot = sent_slot(sig);
        if (!(t->pending & 1u << slot)) /* as in the kernel, the first stands for all */
            note_arrived(t, slot, sig, info, c);
        t->pending |= 1u << slot;
        return;
    }
    note_arrived(t, ARRIVED_DEFERRED, sig, info, c);
    t->mask = c->mask;
    t->base_mask = c->r.rip == address(call_returned) && t->has_call_mask ? t->call_mask : c->mask;
    t->pending |= 1u << ARRIVED_DEFERRED;
    c->mask = ~RESERVED;
}

/* On in the guest, if the program's own code runs, or is about to. */
static bool bring_in(struct thread *t, struct context *c, u64 gs)
{
    u64 pc = c->r.rip;
    if (is_native(t, pc))
        take_native(t, c, gs);
    else if (!rest_is_beginning(t, pc))
        return false;
    return send_to(t, c, guest_reenter);
}

/* Returns whether the thread goes on in the guest: then gs must stay ours. It was `gs`. */
bool on_signal(struct thread *t, u32 sig, const u64 *info, struct context *c, u64 gs)
{
    u64 pc = c->r.rip;
    note_frame(t, c);
    if (rest_is_called(t, sig, info))
        return t->resting && bring_in(t, c, gs);
    if (SIG_BIT(sig) & RESERVED && (s32)(u32)info[1] > 0)
        return take_fault(t, sig, info, c, gs);
    take_sent(t, sig, info, c);
    if (!t->pending)
        return false;
    t->limit = 0;
    if (pc >= address(call_window) && pc <= address(guest_syscall_insn) && !t->cloning)
        return send_to(t, c, guest_abandon);
    return bring_in(t, c, gs);
}

/* -- Delivery: in the guest, the program's state is in the thread block ------------------------ */

static bool is_on_stack(const struct thread *t, u64 sp)
{
    return !(t->stack.flags & SS_AUTODISARM_) && sp > t->stack.sp &&
           sp - t->stack.sp <= t->stack.size;
}

bool signal_on_stack(const struct thread *t)
{
    return is_on_stack(t, t->regs[RSP]);
}

/* Where the handler's frame and its vector state go; false if the stack has no room. */
static bool place_frame(const struct thread *t, const struct action *a, u64 *frame, u64 *xstate)
{
    u64 sp = t->regs[RSP];
    bool bounded = is_on_stack(t, sp);
    sp -= 128;
    if (a->flags & SA_ONSTACK_ && t->stack.size && !is_on_stack(t, sp)) {
        sp = t->stack.sp + t->stack.size;
        bounded = true;
    }
    *xstate = ALIGN_DOWN(sp - t->xextent, 64);
    *frame = ALIGN_DOWN(*xstate - sizeof(struct frame), 16) - 8;
    bool disarm = t->stack.flags & SS_AUTODISARM_;
    return !bounded || disarm || is_on_stack(t, *frame);
}

static void fill_context(const struct thread *t, const struct arrived *a, u64 mask, u64 xstate,
                         struct context *c)
{
    const u64 *r = t->regs;
    *c = (struct context){
        .flags = 7,
        .stack = {t->stack.sp, t->stack.flags, 0, t->stack.size},
        .mask = mask,
        .r = {r[8],
              r[9],
              r[10],
              records(t) ? t->app_r11 : t->ptr,
              r[12],
              r[13],
              r[14],
              r[15],
              r[RDI],
              r[RSI],
              r[RBP],
              r[RBX],
              r[RDX],
              r[RAX],
              r[RCX],
              r[RSP],
              t->pc,
              t->flags | (t->traced ? (u64)FLAG_TF : 0),
              {t->selectors[0], t->selectors[1], t->selectors[2], t->selectors[3]},
              a->err,
              a->trapno,
              mask,
              a->cr2,
              xstate,
              {0}},
    };
}

static bool put_xstate(const struct thread *t, u64 at)
{
    struct software s = {XSTATE_MAGIC1, t->xextent, t->xfeatures, t->xsize, {0}};
    u64 present;
    u32 magic2 = XSTATE_MAGIC2;
    if (xsave_guarded(at, t->xfeatures) || copy_in(&present, at + HEADER_AT, 8))
        return false;
    present |= 3; /* as the kernel does: x87 and SSE are always there */
    return !copy_out(at + HEADER_AT, &present, 8) && !copy_out(at + SW_AT, &s, sizeof s) &&
           !copy_out(at + t->xsize, &magic2, 4);
}

static bool put_frame(const struct thread *t, const struct action *act, const struct arrived *a,
                      u64 mask, u64 *frame)
{
    struct frame f;
    u64 xstate;
    if (!(act->flags & SA_RESTORER_) || !place_frame(t, act, frame, &xstate))
        return false;
    fill_context(t, a, mask, xstate, &f.context);
    f.restorer = act->restorer;
    for (u32 i = 0; i < 16; i++)
        f.info[i] = a->info[i];
    u64 size = act->flags & SA_SIGINFO_ ? sizeof f : offsetof(struct frame, info);
    return put_xstate(t, xstate) && !copy_out(*frame, &f, size);
}

/* Will the program die of a signal that it is about to send to itself? */
bool signal_is_death(const struct thread *t, u32 sig)
{
    const u64 cores = SIG_BIT(3) | SIG_BIT(SIGILL_) | SIG_BIT(SIGTRAP_) | SIG_BIT(6) |
                      SIG_BIT(SIGBUS_) | SIG_BIT(SIGFPE_) | SIG_BIT(SIGSEGV_) | SIG_BIT(SIGSYS_);
    u64 mask = 0;
    if (sig < 1 || sig > 31 || !(cores & SIG_BIT(sig)) || sighand(t)->action[sig - 1].handler)
        return false;
    kernel(__NR_rt_sigprocmask, 0, 0, (u64)(uintptr_t)&mask, 8);
    return !((mask | t->blocked) & SIG_BIT(sig));
}

/* Let the program make its last call itself, so that its core shows it there. */
_Noreturn void signal_die_by_call(struct thread *t, u32 sig)
{
    struct action none = {0};
    set_action(sig, &none);
    t->pc -= 2;
    t->result = RESULT_RESTARTED;
    put_syscall(t, t->regs[RAX]);
    leave_for_native(t, NATIVE_dying);
}

/* The program dies of its fault, by the kernel's hand: at the instruction itself where that faults
 * again. */
static _Noreturn void die_of(struct thread *t, const struct arrived *a)
{
    struct action none = {0};
    set_action(a->sig, &none);
    if (a->sig == SIGTRAP_ || a->sig == SIGSYS_ || a->made)
        send_again(a);
    leave_for_native(t, NATIVE_dying);
}

/* All state but the registers in the thread block, at once; then on in the cache. */
static _Noreturn void enter(struct thread *t, u64 mask, u64 xstate)
{
    struct context c = {.flags = 6,
                        .stack = {t->self + T_SIGNAL_STACK, 0, 0, T_SIGNAL_STACK_SIZE},
                        .mask = mask & ~RESERVED,
                        .r = {.rip = address(guest_continue),
                              .rsp = t->self + T_STACK_TOP,
                              .flags = 0x202,
                              .selectors = {0x33, 0, 0, 0x2b},
                              .fpstate = xstate}};
    t->blocked = mask & RESERVED;
    set_limit(t);
    enter_context(&c);
}

static _Noreturn void enter_handler(struct thread *t, const struct action *act, u32 sig, u64 frame,
                                    u64 in_force)
{
    u64 slot[RECORD_signal_slots] = {sig, act->handler, t->pc, time_stamp(t)};
    u64 mask = in_force | act->mask | (act->flags & SA_NODEFER_ ? 0 : SIG_BIT(sig));
    if (tells(t))
        put_record(t, RECORD_signal, RECORD_signal_slots, slot);
    if (t->stack.flags & SS_AUTODISARM_) {
        t->stack.sp = t->stack.size = 0;
        t->stack.flags = SS_DISABLE_;
    }
    t->regs[RDI] = sig;
    t->regs[RSI] = frame + offsetof(struct frame, info);
    t->regs[RDX] = frame + offsetof(struct frame, context);
    t->regs[RAX] = 0;
    t->regs[RSP] = frame;
    t->flags &= ~(u64)(FLAG_DF | FLAG_RF | FLAG_TF);
    t->traced = 0;
    t->selectors[0] = CODE64;
    t->pc = act->handler;
    put_state(t);
    enter(t, mask, 0);
}

/* A frame could not be made, or a context not be read: what the kernel then does. */
static void make_segv(struct thread *t)
{
    struct arrived *a = &t->arrived[ARRIVED_FAULT];
    *a = (struct arrived){.sig = SIGSEGV_, .made = 1, .trapno = 13};
    a->info[0] = SIGSEGV_;
    a->info[1] = SI_KERNEL_;
    t->pending |= 1u << ARRIVED_FAULT;
}

static u32 choose(const struct thread *t)
{
    if (t->pending & 1u << ARRIVED_FAULT)
        return ARRIVED_FAULT;
    return t->pending ? (u32)__builtin_ctz(t->pending) : ARRIVED_LIMIT;
}

/* Forget the action of a handler that wants to run once; a copy of what it was. */
static struct action use_action(struct sighand *h, u32 sig)
{
    lock(h);
    struct action a = h->action[sig - 1];
    if (is_function(&a) && a.flags & SA_RESETHAND_)
        h->action[sig - 1].handler = 0;
    unlock(h);
    return a;
}

/* No handler any more: the kernel knows what to do. */
static void hand_back(const struct arrived *a, const struct action *act)
{
    struct action none = {0};
    if (act->handler == 1)
        return;
    if (SIG_BIT(a->sig) & RESERVED)
        set_action(a->sig, &none);
    send_again(a);
}

/* A signal comes before a system call begins again that attaching has interrupted: the call ends as the kernel would have ended it, and
 * only then the handler runs. */
static void end_interrupted(struct thread *t, const struct action *a)
{
    enum { RESTART_SYS = 512, RESTART_NOINTR = 513 };
    u32 why = t->interrupted;
    t->interrupted = 0;
    if (!why || why == RESTART_NOINTR || (why == RESTART_SYS && a->flags & SA_RESTART_))
        return;
    t->pc += 2;
    t->regs[RAX] = (u64)-4; /* EINTR */
}

/* Deliver one of the pending signals at t->pc. Returns if none was to be delivered after all. */
void deliver(struct thread *t)
{
    u64 kernels = signal_mask(~RESERVED); /* none of those can arrive from here on */
    bool deferred = t->pending & 1u << ARRIVED_DEFERRED;
    u64 mask = ((deferred ? t->mask : kernels) & ~RESERVED) | t->blocked, in_force = mask, frame;
    u32 slot = choose(t);
    if (deferred && slot == ARRIVED_DEFERRED)
        in_force = (t->base_mask & ~RESERVED) | t->blocked;
    if (deferred && slot != ARRIVED_DEFERRED)
        send_again(&t->arrived[ARRIVED_DEFERRED]);
    t->pending &= ~(1u << ARRIVED_DEFERRED);
    if (slot < ARRIVED_LIMIT) {
        struct arrived a = t->arrived[slot];
        t->pending &= ~(1u << slot);
        bool blocked = t->blocked & SIG_BIT(a.sig);
        if (blocked && slot != ARRIVED_FAULT) { /* since it arrived: take_sent will see to it */
            send_again(&a);
            signal_mask(mask & ~RESERVED);
            set_limit(t);
            return;
        }
        struct action act = use_action(sighand(t), a.sig);
        if (is_function(&act) && !blocked) {
            end_interrupted(t, &act);
            if (put_frame(t, &act, &a, mask, &frame))
                enter_handler(t, &act, a.sig, frame, in_force);
            if (a.sig == SIGSEGV_)
                die_of(t, &a);
            make_segv(t);
            signal_mask(mask & ~RESERVED);
            deliver(t);
            return;
        }
        if (slot == ARRIVED_FAULT)
            die_of(t, &a);
        hand_back(&a, &act);
    }
    signal_mask(mask & ~RESERVED);
    set_limit(t);
}

/* The kernel will load it: it must be there, if there is to be one. */
static bool has_xstate(const struct context *c)
{
    u8 byte;
    return !c->r.fpstate ||
           (!copy_in(&byte, c->r.fpstate, 1) && !copy_in(&byte, c->r.fpstate + HEADER_AT - 1, 1));
}

/* The program's rt_sigreturn: its context lies at rsp. */
_Noreturn void signal_return(struct thread *t)
{
    struct context c;
    u64 kernels = signal_mask(~RESERVED);
    if (t->pending &
        1u << ARRIVED_DEFERRED) { /* it arrives again when the mask is that of the context */
        kernels = t->mask;
        send_again(&t->arrived[ARRIVED_DEFERRED]);
        t->pending &= ~(1u << ARRIVED_DEFERRED);
    }
    bool good = !copy_in(&c, t->regs[RSP], sizeof c) && has_xstate(&c);
    u16 code = good ? c.r.selectors[0] | 3 : 0;
    if (code != CODE64 && code != CODE32) {
        put_syscall(t, __NR_rt_sigreturn);
        make_segv(t);
        signal_mask(kernels & ~RESERVED);
        for (;;) /* enters the handler of SIGSEGV, or dies of it */
            deliver(t);
    }
    u64 own = t->flags;
    take_context(t, &c);
    t->flags = (own & ~FLAGS_OF_CONTEXT) | (t->flags & FLAGS_OF_CONTEXT);
    t->traced = (c.r.flags & FLAG_TF) != 0;
    t->selectors[0] = code;
    t->stack.sp = c.stack.sp;
    t->stack.size = c.stack.flags & SS_DISABLE_ ? 0 : c.stack.size;
    t->stack.flags = c.stack.flags;
    u64 slot[RECORD_sigreturn_slots] = {t->pc, time_stamp(t)};
    if (tells(t))
        put_record(t, RECORD_sigreturn, RECORD_sigreturn_slots, slot);
    put_state(t);
    enter(t, c.mask, c.r.fpstate);
}

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
    rest_end(t);
    if (t->stepping == STEP_DONE || (t->stepping && t->pc != t->target)) {
        put_stepped(t, t->target, t->pc);
        put_state(t);
    }
    t->stepping = 0;
    if (t->pending)
        deliver(t);
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

/* Threads leave one by one, and those still here need our handlers: the last one gives the program its
 * own actions. Until then the signals of those that have left are passed on to them. */
static void leave_actions(struct thread *t)
{
    struct sighand *h = sighand(t);
    lock(h);
    if (__atomic_sub_fetch(&h->users, 1, __ATOMIC_ACQ_REL) == 0)
        restore_actions(h);
    unlock(h);
    t->left = 1;
}

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
