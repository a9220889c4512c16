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
#include "guest/signals.h"

enum { TRAP_TRACE_ = 2, SYS_USER_DISPATCH_ = 2 };

extern const u8 guest_fault[], guest_reenter[], guest_abandon[], call_window[], guest_syscall_insn[], call_returned[], task_returned[], guard_begin[],
    guard_end[], guard_fault[];

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

/* What the kernel's frame says about frames. The selectors of the guest itself are not the program's. */
static void note_frame(struct thread *t, const struct context *c)
{
    const struct software *s = (const struct software *)(uintptr_t)(c->r.fpstate + SW_AT);
    for (u32 i = 0; i < 4 && (is_native(t, c->r.rip) || is_in_cache(t, c->r.rip)); i++)
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

void take_context(struct thread *t, const struct context *c)
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
        t->stays = 1; /* until it is over */
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
    if (t->held == HELD_let_go) { /* the thread had it when we came */
        t->limit = 0;
        return false;
    }
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
