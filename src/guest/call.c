/* SPDX-License-Identifier: MIT */
/* System calls: most are the program's own business; these change what we must know. */
#include "guest/guest.h"

#define ERROR_PERM    ((u64)-1)
#define ERROR_NOMEM   ((u64)-12)
#define ERROR_FAULT   ((u64)-14)
#define ERROR_INVALID ((u64)-22)

enum { ARCH_SET_GS_ = 0x1001, ARCH_SET_FS_ = 0x1002, ARCH_GET_GS_ = 0x1004, PROT_READ_ = 1, PROT_EXEC_ = 4 };
enum { MAP_PRIVATE_ = 2, MAP_DENYWRITE_ = 0x800, LIBRARY_LIMIT = 1 << 28 };
enum { MADV_DONTNEED_ = 4, MADV_FREE_ = 8, MADV_REMOVE_ = 9, MADV_DONTNEED_LOCKED_ = 24 };
enum { SHM_REMAP_ = 040000, SHM_EXEC_ = 0100000 };

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
        if (copy_out(addr, &t->app_gs, 8))
            t->result = ERROR_FAULT;
        return true;
    }
    return false;
}

/* What would take the ground from under us is refused. */
static bool before_prctl(struct thread *t)
{
    enum { SET_SECCOMP = 22, SET_TSC = 26, SET_SYSCALL_USER_DISPATCH = 59 };
    switch (t->regs[RDI]) {
    case SET_SECCOMP:
        return seccomp_before(t);
    case SET_TSC: /* we read it too */
        t->no_clock = t->regs[RSI] == 2;
        return false;
    case SET_SYSCALL_USER_DISPATCH:
        t->result = ERROR_INVALID;
        return true;
    default:
        return false;
    }
}

/* abort() and its like. */
static void before_kill(struct thread *t)
{
    bool group = t->regs[RAX] == __NR_tgkill;
    u64 tid = t->regs[group ? RSI : RDI], sig = t->regs[group ? RDX : RSI];
    if ((u32)tid == t->tid && (!group || (u32)t->regs[RDI] == t->pid) && !t->pending &&
        signal_is_death(t, (u32)sig))
        signal_die_by_call(t, (u32)sig);
}

/* -- Calls about signals ----------------------------------------------------------------------- */

static void do_sigaction(struct thread *t)
{
    u64 sig = t->regs[RDI], act = t->regs[RSI], old = t->regs[RDX];
    struct action new = {0}, was;
    bool fixed = sig == SIGKILL_ || sig == SIGSTOP_;
    t->result = ERROR_INVALID;
    if (t->regs[R10] != 8)
        return;
    if (act && copy_in(&new, act, sizeof new)) {
        t->result = ERROR_FAULT;
        return;
    }
    if (sig < 1 || sig > 64 || (act && fixed))
        return;
    new.flags &= SA_KNOWN;
    new.mask &= ~(SIG_BIT(SIGKILL_) | SIG_BIT(SIGSTOP_));
    t->result = (u64)signal_action(t, (u32)sig, act ? &new : 0, &was);
    if (!failed(t) && old && copy_out(old, &was, sizeof was))
        t->result = ERROR_FAULT;
}

struct stack {
    u64 sp;
    u32 flags, pad;
    u64 size;
};

static u64 set_stack(struct thread *t, const struct stack *s)
{
    u32 mode = s->flags & ~SS_AUTODISARM_;
    bool off = mode == SS_DISABLE_;
    if (signal_on_stack(t))
        return ERROR_PERM;
    if (!off && mode > 1)
        return ERROR_INVALID;
    if (!off && s->size < 2048)
        return ERROR_NOMEM;
    t->stack.sp = off ? 0 : s->sp;
    t->stack.size = off ? 0 : s->size;
    t->stack.flags = s->flags;
    return 0;
}

static void do_sigaltstack(struct thread *t)
{
    u64 new = t->regs[RDI], old = t->regs[RSI];
    struct stack s, was = {t->stack.sp, t->stack.flags & SS_AUTODISARM_, 0, t->stack.size};
    was.flags |= !t->stack.size ? SS_DISABLE_ : signal_on_stack(t) ? 1u : 0;
    t->result = 0;
    if (new)
        t->result = copy_in(&s, new, sizeof s) ? ERROR_FAULT : set_stack(t, &s);
    if (!failed(t) && old && copy_out(old, &was, sizeof was))
        t->result = ERROR_FAULT;
}

void call_swap_argument(struct thread *t, enum reg reg, u64 value)
{
    t->swapped = reg + 1;
    t->swapped_value = t->regs[reg];
    t->regs[reg] = value;
}

static void arguments_back(struct thread *t)
{
    if (t->swapped)
        t->regs[t->swapped - 1] = t->swapped_value;
    t->swapped = t->has_call_mask = 0;
}

static bool is_exec(u64 nr)
{
    return nr == __NR_execve || nr == __NR_execveat;
}

void call_undo(struct thread *t)
{
    store_relaxed(&t->calling, 0);
    if (t->regs[RAX] == __NR_rt_sigprocmask)
        t->blocked = t->old_blocked;
    if (is_exec(t->regs[RAX]))
        signal_after_exec(t);
    if (t->execing && !after_exec(t))
        leave_for_native(t, NATIVE_host_gone);
    if (t->cloning)
        finish_task(t);
    arguments_back(t);
    seccomp_done(t);
}

/* The kernel gets a mask without the reserved signals. What cannot be read it complains of itself. */
static bool lend_mask(struct thread *t, u64 at)
{
    if (!at || copy_in(&t->call_mask, at, 8))
        return false;
    t->arg[0] = t->call_mask & ~RESERVED;
    return true;
}

static void lend_mask_for_call(struct thread *t, enum reg reg)
{
    if (!lend_mask(t, t->regs[reg]))
        return;
    t->has_call_mask = 1;
    call_swap_argument(t, reg, (u64)(uintptr_t)t->arg);
}

/* pselect6 and io_pgetevents: the last argument leads to address and size of the mask. */
static void lend_mask_behind(struct thread *t, enum reg reg)
{
    if (!t->regs[reg] || copy_in(&t->arg[2], t->regs[reg], 16) || !lend_mask(t, t->arg[2]))
        return;
    t->has_call_mask = 1;
    t->arg[2] = (u64)(uintptr_t)t->arg;
    call_swap_argument(t, reg, (u64)(uintptr_t)&t->arg[2]);
}

/* The reserved signals change before the call: what it sets free arrives before it returns. */
static void before_sigprocmask(struct thread *t)
{
    u64 how = t->regs[RDI];
    t->old_blocked = t->blocked;
    if (!lend_mask(t, t->regs[RSI]))
        return;
    u64 mask = t->call_mask & RESERVED;
    if (how == 1)
        t->arg[0] = t->call_mask; /* they may be blocked after all: see take_sent */
    call_swap_argument(t, RSI, (u64)(uintptr_t)t->arg);
    if (how <= 2)
        t->blocked = how == 0 ? t->blocked | mask : how == 1 ? t->blocked & ~mask : mask;
}

static void after_sigprocmask(struct thread *t)
{
    u64 old, at = t->regs[RDX];
    /* The old mask is told last: the change is made even where that fails. */
    if (failed(t) && !(t->result == ERROR_FAULT && t->swapped)) {
        t->blocked = t->old_blocked;
        return;
    }
    if (at && t->old_blocked && !copy_in(&old, at, 8)) {
        old |= t->old_blocked;
        copy_out(at, &old, 8);
    }
}

static void before_signal_call(struct thread *t)
{
    switch (t->regs[RAX]) {
    case __NR_rt_sigprocmask:
        before_sigprocmask(t);
        break;
    case __NR_rt_sigsuspend:
        lend_mask_for_call(t, RDI);
        break;
    case __NR_ppoll:
        lend_mask_for_call(t, R10);
        break;
    case __NR_epoll_pwait:
    case __NR_epoll_pwait2:
        lend_mask_for_call(t, R8);
        break;
    case __NR_pselect6:
    case __NR_io_pgetevents:
        lend_mask_behind(t, R9);
        break;
    default:
        break;
    }
}

/* -- All calls --------------------------------------------------------------------------------- */

/* What is to become of a system call. The numbers are known to entry.S. */
enum call {
    CALL_DO,
    CALL_DONE, /* its result is in t->result */
    CALL_EXIT, /* the thread ends */
    CALL_TASK, /* it makes a task, for which t->cloning is the block */
};

/* Of another process on the same memory, exit_group ends only that. */
static void note_exit(struct thread *t)
{
    if (records(t))
        hand_over_buffer(t);
    if (t->regs[RAX] == __NR_exit_group && t->made != TASK_sharer)
        store_relaxed(&control(t)->exited, 256 | (u32)(t->regs[RDI] & 255));
    t->number = NO_NUMBER;
}

static enum call end_of_thread(struct thread *t)
{
    u64 mask = signal_mask(~0ull);
    if (t->pending) { /* that comes first: entry.S will not begin the call */
        signal_mask(mask);
        return CALL_DO;
    }
    finish_request(t);
    signal_leave(t);
    note_exit(t);
    return CALL_EXIT;
}

/* A library whose address nobody cares about is mapped where units reach its data with 32 bits. It is the dynamic loader that still says
 * MAP_DENYWRITE, which the kernel ignores. */
static void place_library(struct thread *t)
{
    enum { WHAT = MAP_PRIVATE_ | MAP_DENYWRITE_ };
    u64 size = ALIGN_UP(t->regs[RSI], 4096), *near = &control(t)->near;
    if (t->regs[RDI] || t->regs[R10] != WHAT || size >= LIBRARY_LIMIT || load_relaxed(near) < LIBRARY_LIMIT)
        return;
    call_swap_argument(t, RDI, __atomic_sub_fetch(near, size, __ATOMIC_RELAXED));
}

enum call before_syscall(struct thread *t)
{
    t->n_syscalls++;
    if (control(t)->attached)
        t->call_began = time_stamp(t);
    store_relaxed(&t->calling, 1);
    budget_stop(t);
    if (seccomp_forbids(t))
        kernel(__NR_tgkill, t->pid, t->tid, SIGKILL_, 0);
    switch (t->regs[RAX]) {
    case __NR_arch_prctl:
        return emulate_arch_prctl(t) ? CALL_DONE : CALL_DO;
    case __NR_rseq:
        /* A critical section runs from the cache under other addresses than the kernel would look
         * for. A library that has had it in one thread does not do without it in the next. */
        t->result = (u64)-38; /* ENOSYS */
        return control(t)->has_rseq ? CALL_DO : CALL_DONE;
    case __NR_seccomp:
        return seccomp_before(t) ? CALL_DONE : CALL_DO;
    case __NR_ptrace:
        if (!t->regs[RDI]) { /* PTRACE_TRACEME: its tracer shall not see signals of ours */
            store_relaxed(&control(t)->is_watched, 1);
            store_relaxed(&control(t)->rests, 0);
        }
        return CALL_DO;
    case __NR_mmap:
        place_library(t);
        return CALL_DO;
    case __NR_prctl:
        return before_prctl(t) ? CALL_DONE : CALL_DO;
    case __NR_tkill:
    case __NR_tgkill:
        before_kill(t);
        return CALL_DO;
    case __NR_rt_sigaction:
        do_sigaction(t);
        return CALL_DONE;
    case __NR_sigaltstack:
        do_sigaltstack(t);
        return CALL_DONE;
    case __NR_rt_sigreturn:
        signal_return(t);
    case __NR_exit:
    case __NR_exit_group:
        return end_of_thread(t);
    case __NR_execve:
    case __NR_execveat:
        before_exec(t);
        signal_before_exec(t);
        return CALL_DO;
    default:
        if (makes_task(t->regs[RAX]))
            return before_task(t) ? CALL_TASK : CALL_DO;
        before_signal_call(t);
        return CALL_DO;
    }
}

static bool is_told(const struct thread *t, u64 start, u64 end)
{
    const struct control *c = control(t);
    if (c->n_told > CODE_RANGES)
        return true;
    for (u32 i = 0; i < c->n_told; i++)
        if (c->code[i].start < end && start < c->code[i].end)
            return true;
    return false;
}

/* Code may have come, changed or gone: the host must know before the next instruction. A length of 0
 * is that of the mapping there. */
static void tell_range(struct thread *t, u64 start, u64 length, bool executable)
{
    if (executable || is_told(t, start, start + MAX(length, 1)))
        ask_range(t, REQ_memory_changed, start, start + length);
}

/* What the dynamic loader has relocated becomes read-only: jumps through it are then as good as direct ones. Others do the like again and again. */
static bool seals(struct thread *t)
{
    u32 *n = &control(t)->n_sealed;
    return t->regs[RDX] == PROT_READ_ && !failed(t) && load_relaxed(n) < CODE_RANGES && __atomic_fetch_add(n, 1, __ATOMIC_RELAXED) < CODE_RANGES;
}

static bool drops_contents(u64 advice)
{
    return advice == MADV_DONTNEED_ || advice == MADV_FREE_ || advice == MADV_REMOVE_ ||
           advice == MADV_DONTNEED_LOCKED_;
}

/* The program's break is at the result now; what was above it, if it went down, is gone. */
static void tell_break(struct thread *t)
{
    u64 old = __atomic_exchange_n(&control(t)->brk, t->result, __ATOMIC_RELAXED);
    if (old > t->result)
        tell_range(t, t->result, old - t->result, false);
}

/* A call that fails may have done a part of its work. */
static void tell_memory(struct thread *t, u64 nr)
{
    bool executable = t->regs[RDX] & PROT_EXEC_;
    switch (nr) {
    case __NR_mmap:
        if (!failed(t))
            tell_range(t, t->result, t->regs[RSI], executable);
        break;
    case __NR_mprotect:
    case __NR_pkey_mprotect:
        tell_range(t, t->regs[RDI], t->regs[RSI], executable || seals(t));
        break;
    case __NR_munmap:
        tell_range(t, t->regs[RDI], t->regs[RSI], false);
        break;
    case __NR_mremap:
        tell_range(t, t->regs[RDI], t->regs[RSI], false);
        if (!failed(t))
            tell_range(t, t->result, t->regs[RDX],
                       is_told(t, t->regs[RDI], t->regs[RDI] + t->regs[RSI]));
        break;
    case __NR_madvise:
        if (drops_contents(t->regs[RDX]))
            tell_range(t, t->regs[RDI], t->regs[RSI], false);
        break;
    case __NR_remap_file_pages:
        tell_range(t, t->regs[RDI], t->regs[RSI], false);
        break;
    case __NR_shmat:
        if (!failed(t))
            tell_range(t, t->result, 0, t->regs[RDX] & (SHM_EXEC_ | SHM_REMAP_));
        break;
    case __NR_shmdt:
        tell_range(t, t->regs[RDI], 0, false);
        break;
    case __NR_brk:
        tell_break(t);
        break;
    default:
        break;
    }
}

/* What the kernel leaves in the registers. */
static void return_registers(struct thread *t)
{
    t->regs[RAX] = t->result;
    t->regs[RCX] = t->pc;
    *(records(t) ? &t->app_r11 : &t->ptr) = t->flags;
}

void after_syscall(struct thread *t)
{
    u64 nr = t->regs[RAX];
    store_relaxed(&t->calling, 0);
    budget_begin(t);
    t->interrupted = 0;
    if (makes_task(nr))
        finish_task(t);
    if (is_exec(nr))
        signal_after_exec(t);
    if (t->execing && !after_exec(t)) {
        return_registers(t);
        leave_for_native(t, NATIVE_host_gone);
    }
    put_syscall(t, nr);
    if (nr == __NR_arch_prctl)
        put_state(t);
    if (nr == __NR_rt_sigprocmask)
        after_sigprocmask(t);
    arguments_back(t);
    seccomp_done(t);
    tell_memory(t, nr);
    return_registers(t);
    rest_note_call(t);
    if (rest_is_due(t))
        store_relaxed(&t->limit, 0);
}
