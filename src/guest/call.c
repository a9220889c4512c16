/* SPDX-License-Identifier: MIT */
/* System calls: most are the program's own business; these change what we must know. */
#include "guest/guest.h"

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
        publish_buffer(t);
    if (t->regs[RAX] == __NR_exit_group && t->made != TASK_sharer)
        store_relaxed(&control(t)->exited, 256 | (u32)(t->regs[RDI] & 255));
    t->number = NO_NUMBER;
}

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
        note_exit(t);
        return CALL_EXIT;
    case __NR_execve:
    case __NR_execveat:
        before_exec(t);
        return CALL_DO;
    default:
        if (!makes_task(t->regs[RAX]))
            return CALL_DO;
        before_task(t);
        return CALL_TASK;
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

/* What the kernel leaves in the registers. */
static void return_registers(struct thread *t)
{
    t->regs[RAX] = t->result;
    t->regs[RCX] = t->pc;
    if (records(t))
        t->app_r11 = t->flags;
    else
        t->ptr = t->flags;
}

void after_syscall(struct thread *t)
{
    u64 nr = t->regs[RAX];
    if (makes_task(nr))
        finish_task(t);
    if (t->execing && !after_exec(t)) {
        return_registers(t);
        go_native(t, NATIVE_host_gone);
    }
    put_syscall(t, nr);
    if (nr == __NR_arch_prctl)
        put_state(t);
    if (!failed(t))
        tell_memory(t, nr);
    return_registers(t);
}
