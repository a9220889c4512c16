/* SPDX-License-Identifier: MIT */
/* Signals are delivered in the guest, where the program's state is in the thread block; and handlers return. */
#include "guest/signals.h"

#define FLAGS_OF_CONTEXT \
    0x50dd5ul /* what rt_sigreturn takes from a context: AC RF OF DF TF SF ZF AF PF CF */

extern const u8 guest_continue[];
u32 xsave_guarded(u64 to, u64 features);
_Noreturn void enter_context(const struct context *c);

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

void fill_context(const struct thread *t, const struct arrived *a, u64 mask, u64 xstate,
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

bool put_xstate(const struct thread *t, u64 at)
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
void make_segv(struct thread *t)
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
