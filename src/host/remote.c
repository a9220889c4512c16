/* SPDX-License-Identifier: MIT */
/* System calls in the name of a stopped thread. A few bytes of the program's code are replaced for the time of it: the instruction and
 * a name. Its signals wait meanwhile. No trap is used: the signal of one, forced on a thread that blocks or ignores it, would take the
 * program's own action for SIGTRAP away. */
#include "host/process.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static const u8 remote_code[32] = "\x0f\x05\xcc\xcc\xcc\xcc\xcc\xccgait";
enum { STOP_AT_CALL = SIGTRAP | 0x80 /* by PTRACE_O_TRACESYSGOOD, which whoever seizes sets */ };

static bool put_code(struct remote *m)
{
    m->at = m->regs.rip;
    return pread(m->mem_fd, m->saved, sizeof m->saved, (off_t)m->at) == sizeof m->saved &&
           pwrite(m->mem_fd, remote_code, sizeof remote_code, (off_t)m->at) == sizeof remote_code;
}

int remote_begin(struct remote *m, struct err *e)
{
    u64 all = ~0ull;
    m->patched = !m->at;
    if (ptrace(PTRACE_GETREGS, m->pid, 0, &m->regs) < 0 ||
        ptrace(PTRACE_GETSIGMASK, m->pid, sizeof m->mask, &m->mask) < 0 ||
        ptrace(PTRACE_SETSIGMASK, m->pid, sizeof all, &all) < 0 || (m->patched && !put_code(m)))
        return err_set(e, "cannot enter the program: %s", strerror(errno));
    return 0;
}

/* Wait for a stop of this kind: of a system call, or the one that was asked for. What else may stop the program, with all signals
 * blocked, is a stop of its group, which holds again when we are gone. */
static int wait_for(struct remote *m, int how, bool call)
{
    for (int status, sig = 0;;) {
        if (ptrace(how, m->pid, 0, sig) < 0)
            return -errno;
        while (waitpid(m->pid, &status, __WALL) < 0)
            if (errno != EINTR)
                return -errno;
        if (!WIFSTOPPED(status))
            return -ESRCH;
        bool event = status >> 16 == PTRACE_EVENT_STOP;
        if (call ? WSTOPSIG(status) == STOP_AT_CALL : event)
            return 0;
        sig = event ? 0 : WSTOPSIG(status);
    }
}

/* The thread is left in a stop in which the kernel would begin a system call again that was interrupted: not in one of a call. */
static int stop_as_before(struct remote *m)
{
    if (ptrace(PTRACE_SETREGS, m->pid, 0, &m->regs) < 0 ||
        ptrace(PTRACE_INTERRUPT, m->pid, 0, 0) < 0)
        return -errno;
    return wait_for(m, PTRACE_CONT, false);
}

int remote_end(struct remote *m, struct err *e)
{
    bool back = !m->patched ||
                pwrite(m->mem_fd, m->saved, sizeof m->saved, (off_t)m->at) == sizeof m->saved;
    if (!back || stop_as_before(m) ||
        ptrace(PTRACE_SETSIGMASK, m->pid, sizeof m->mask, &m->mask) < 0)
        return err_set(e, "cannot leave the program as it was: %s", strerror(errno));
    return 0;
}

/* Returns what the kernel returned: a value, or -errno. */
s64 remote_call(struct remote *m, u64 nr, const u64 a[6])
{
    struct user_regs_struct r = m->regs;
    r.rax = nr;
    r.rdi = a[0], r.rsi = a[1], r.rdx = a[2], r.r10 = a[3], r.r8 = a[4], r.r9 = a[5];
    r.rip = m->at;
    r.orig_rax = (unsigned long)-1; /* not in a system call: nothing to restart */
    if (ptrace(PTRACE_SETREGS, m->pid, 0, &r) < 0)
        return -errno;
    int failed = wait_for(m, PTRACE_SYSCALL, true); /* into it, and out of it */
    if (!failed)
        failed = wait_for(m, PTRACE_SYSCALL, true);
    if (!failed && ptrace(PTRACE_GETREGS, m->pid, 0, &r) < 0)
        failed = -errno;
    return failed ? failed : (s64)r.rax;
}
