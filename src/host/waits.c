/* SPDX-License-Identifier: MIT */
/* What is left of a wait. Most system calls that wait for a limited time go on with the rest of it after a stop: the kernel remembers it, or
 * has written it to the program's memory. These forget it, and would begin anew whenever a thread is stopped: we remember.
 *
 * The rest takes the limit's place for the one call: in a register, if the program does not look at it any more; in its memory until
 * the thread sleeps. Where neither can be, the wait begins anew. How long a thread had waited before it was first stopped nobody tells. */
#include "host/process.h"
#include "translate/insn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

enum limit { LIMIT_MS, LIMIT_TIME /* where a struct timespec is */ };
static const struct timed {
    u16 nr;
    u8 reg, limit;
} timed[] = {
    {SYS_epoll_wait, R10, LIMIT_MS},     {SYS_epoll_pwait, R10, LIMIT_MS},
    {441 /* epoll_pwait2 */, R10, LIMIT_TIME}, {SYS_semtimedop, R10, LIMIT_TIME},
    {SYS_rt_sigtimedwait, RDX, LIMIT_TIME},    {SYS_io_getevents, R8, LIMIT_TIME},
    {SYS_io_pgetevents, R8, LIMIT_TIME},
};
enum { SLEEP_TRIES = 100, SLEEP_US = 100, LOOK_AHEAD = 24 /* instructions */ };

static const struct timed *find_call(u64 nr)
{
    for (size_t i = 0; i < ARRAY_LEN(timed); i++)
        if (timed[i].nr == nr)
            return &timed[i];
    return NULL;
}

static u64 limit_register(const struct timed *c, const struct user_regs_struct *r)
{
    return c->reg == R10 ? r->r10 : c->reg == R8 ? r->r8 : r->rdx;
}

/* How long a call may wait, in seconds; negative: for ever, or it says nothing sensible. */
static double limit_of(const struct process *p, const struct timed *c,
                       const struct user_regs_struct *r)
{
    s64 time[2];
    u64 x = limit_register(c, r);
    if (c->limit == LIMIT_MS)
        return (double)(s32)(u32)x * 1e-3;
    if (!x || pread(p->mem_fd, time, sizeof time, (off_t)x) != sizeof time || time[0] < 0 ||
        time[1] < 0 || time[1] >= 1000000000)
        return -1;
    return (double)time[0] + (double)time[1] * 1e-9;
}

/* -- Remembering ---------------------------------------------------------------------------------- */

static u64 switches_of(pid_t tid)
{
    char value[64];
    u64 n = 0;
    if (pids_status(tid, "voluntary_ctxt_switches", value, sizeof value))
        n += strtoull(value, NULL, 10);
    if (pids_status(tid, "nonvoluntary_ctxt_switches", value, sizeof value))
        n += strtoull(value, NULL, 10);
    return n;
}

static struct wait *find_wait(struct run *r, pid_t tid)
{
    for (size_t i = 0; i < r->waits.n; i++)
        if (r->waits.v[i].tid == tid)
            return &r->waits.v[i];
    return NULL;
}

/* Does the thread wait as it did when it was let go? It has been off the processor twice since: to wait, and to be stopped. */
static bool is_same(const struct wait *w, const struct user_regs_struct *r)
{
    return w->nr == r->rax && w->pc == r->rip && w->sp == r->rsp &&
           (!w->switches || switches_of(w->tid) - w->switches <= 2);
}

void waits_note(struct process *p, pid_t tid, const struct user_regs_struct *r, double began)
{
    const struct timed *c = find_call(r->rax);
    double limit = c ? limit_of(p, c, r) : -1, now = monotonic();
    struct wait *w = find_wait(p->run, tid);
    if (limit < 0)
        return;
    if (w && !began && is_same(w, r)) {
        w->switches = 0; /* it stands still, or is in our hands */
        return;
    }
    if (!w) {
        vec_push(&p->run->waits, ((struct wait){.tid = tid}));
        w = &p->run->waits.v[p->run->waits.n - 1];
    }
    *w = (struct wait){tid, r->rax, r->rip, r->rsp, (began ? MIN(began, now) : now) + limit, 0};
}

void waits_forget(struct run *r)
{
    for (size_t i = r->waits.n; i-- > 0;)
        if (!r->waits.v[i].switches)
            r->waits.v[i] = r->waits.v[--r->waits.n];
}

/* -- Going on ------------------------------------------------------------------------------------- */

/* Is the value of a register not looked at any more from here on? One that calls may change: those who called us do not count on it. */
static bool is_dead(const struct process *p, u64 pc, u32 reg, u32 *budget)
{
    while ((*budget)--) {
        u8 bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
        struct insn in;
        ssize_t n = pread(p->mem_fd, bytes, sizeof bytes, (off_t)pc);
        if (n <= 0 || !insn_decode(&in, pc, bytes, (size_t)n) || in.reads & reg)
            return false;
        if (in.writes & reg || in.class == INSN_RET || in.class == INSN_CALL)
            return true;
        if (in.class == INSN_JCC && !is_dead(p, in.target, reg, budget))
            return false;
        if (in.class != INSN_PLAIN && in.class != INSN_JCC && in.class != INSN_JMP)
            return false;
        pc = in.class == INSN_JMP ? in.target : pc + in.len;
    }
    return false;
}

static bool is_running(pid_t tid)
{
    char state[64];
    return pids_status(tid, "State", state, sizeof state) && state[0] == 'R';
}

/* The kernel reads the limit when the call begins; then the program may have it back. */
static void lend_limit(struct process *p, struct wait *w, u64 at, double left)
{
    s64 own[2], rest[2] = {(s64)left, (s64)((left - floor(left)) * 1e9)};
    bool lent = pread(p->mem_fd, own, sizeof own, (off_t)at) == sizeof own &&
                pwrite(p->mem_fd, rest, sizeof rest, (off_t)at) == sizeof rest;
    ptrace(PTRACE_DETACH, w->tid, 0, 0);
    for (u32 i = 0; i < SLEEP_TRIES && is_running(w->tid); i++)
        usleep(SLEEP_US);
    if (lent && pwrite(p->mem_fd, own, sizeof own, (off_t)at) != sizeof own)
        return; /* it has ended */
}

void waits_let_go(struct process *p, pid_t tid, struct user_regs_struct *r)
{
    const struct timed *c = find_call(r->rax);
    struct wait *w = c ? find_wait(p->run, tid) : NULL;
    u32 budget = LOOK_AHEAD;
    if (!w || !is_same(w, r) || limit_of(p, c, r) < 0) {
        ptrace(PTRACE_SETREGS, tid, 0, r);
        ptrace(PTRACE_DETACH, tid, 0, 0);
        return;
    }
    double left = MAX(w->until - monotonic(), 0.0);
    u64 at = limit_register(c, r);
    if (c->limit == LIMIT_MS && is_dead(p, r->rip + 2, LIVE_REG(c->reg), &budget))
        r->r10 = (u64)MIN(ceil(left * 1e3), (double)(u32)at);
    ptrace(PTRACE_SETREGS, tid, 0, r);
    w->switches = switches_of(tid);
    if (c->limit == LIMIT_TIME)
        lend_limit(p, w, at, left);
    else
        ptrace(PTRACE_DETACH, tid, 0, 0);
}
