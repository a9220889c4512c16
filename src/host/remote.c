/* SPDX-License-Identifier: MIT */
/* System calls in the name of a stopped thread. A few bytes of the program's code are replaced for the time of it: the instruction, a
 * trap, a name. Its signals wait meanwhile. */
#include "host/process.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static const u8 remote_code[32] = "\x0f\x05\xcc\xcc\xcc\xcc\xcc\xccgait";
enum { REMOTE_TRAP_AT = 3 };

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

int remote_end(struct remote *m, struct err *e)
{
    bool back = !m->patched ||
                pwrite(m->mem_fd, m->saved, sizeof m->saved, (off_t)m->at) == sizeof m->saved;
    if (!back || ptrace(PTRACE_SETREGS, m->pid, 0, &m->regs) < 0 ||
        ptrace(PTRACE_SETSIGMASK, m->pid, sizeof m->mask, &m->mask) < 0)
        return err_set(e, "cannot leave the program as it was: %s", strerror(errno));
    return 0;
}

/* Run to the trap. What else may stop the program there, with all signals blocked, is a stop of its
 * group, which holds again when we are gone. */
static int remote_run(struct remote *m, struct user_regs_struct *r)
{
    for (int status;;) {
        if (ptrace(PTRACE_CONT, m->pid, 0, 0) < 0)
            return -errno;
        while (waitpid(m->pid, &status, __WALL) < 0)
            if (errno != EINTR)
                return -errno;
        if (!WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, m->pid, 0, r) < 0)
            return -ESRCH;
        if (status >> 16 != PTRACE_EVENT_STOP)
            return r->rip == m->at + REMOTE_TRAP_AT ? 0 : -EFAULT;
    }
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
    int failed = remote_run(m, &r);
    return failed ? failed : (s64)r.rax;
}
