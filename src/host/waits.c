/* SPDX-License-Identifier: MIT */
/* What is left of a wait. Most system calls that wait for a limited time go on with the rest of it after a stop: the kernel remembers it, or
 * has written it to the program's memory. These forget it, and would begin anew whenever a thread is stopped: we remember.
 *
 * The rest takes the limit's place for the one call: in a register, if the program does not look at it any more; in its memory or
 * its socket until the thread sleeps. Where neither can be, the wait begins anew. If nothing is left, the call ends as it does then. How long a thread had waited before it was first stopped nobody tells. */
#include "host/process.h"
#include "translate/insn.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <unistd.h>

enum limit {
    LIMIT_MS,
    LIMIT_TIME /* where a struct timespec is */,
    LIMIT_RECEIVE,
    LIMIT_SEND /* of the socket */
};
enum { NO_RESULT = 1 /* that depends */ };
static const struct timed {
    u16 nr;
    u8 reg, limit; /* where the limit is, and what */
    s8 result;     /* when it is over */
} timed[] = {
    {SYS_epoll_wait, R10, LIMIT_MS, 0},
    {SYS_epoll_pwait, R10, LIMIT_MS, 0},
    {441 /* epoll_pwait2 */, R10, LIMIT_TIME, 0},
    {SYS_semtimedop, R10, LIMIT_TIME, -EAGAIN},
    {SYS_rt_sigtimedwait, RDX, LIMIT_TIME, -EAGAIN},
    {SYS_io_getevents, R8, LIMIT_TIME, 0},
    {SYS_io_pgetevents, R8, LIMIT_TIME, 0},
    {SYS_read, RDI, LIMIT_RECEIVE, -EAGAIN},
    {SYS_readv, RDI, LIMIT_RECEIVE, -EAGAIN},
    {SYS_recvfrom, RDI, LIMIT_RECEIVE, -EAGAIN},
    {SYS_recvmsg, RDI, LIMIT_RECEIVE, -EAGAIN},
    {SYS_recvmmsg, RDI, LIMIT_RECEIVE, -EAGAIN},
    {SYS_accept, RDI, LIMIT_RECEIVE, -EAGAIN},
    {SYS_accept4, RDI, LIMIT_RECEIVE, -EAGAIN},
    {SYS_write, RDI, LIMIT_SEND, -EAGAIN},
    {SYS_writev, RDI, LIMIT_SEND, -EAGAIN},
    {SYS_sendto, RDI, LIMIT_SEND, -EAGAIN},
    {SYS_sendmsg, RDI, LIMIT_SEND, -EAGAIN},
    {SYS_sendmmsg, RDI, LIMIT_SEND, -EAGAIN},
    {SYS_connect, RDI, LIMIT_SEND, NO_RESULT},
};
enum { RUN_NS = 1000000 };
enum { SLEEP_TRIES = 100, SLEEP_US = 100, LOOK_AHEAD = 24 /* instructions */ };
/* What is lent must be back before the program can look at it again: if there is less time left, the thread is kept until it is over. */
static const double hold = 0.02;

static const struct timed *find_call(u64 nr)
{
    for (size_t i = 0; i < ARRAY_LEN(timed); i++)
        if (timed[i].nr == nr)
            return &timed[i];
    return NULL;
}

static u64 limit_register(const struct timed *c, const struct user_regs_struct *r)
{
    return c->reg == R10 ? r->r10 : c->reg == R8 ? r->r8 : c->reg == RDI ? r->rdi : r->rdx;
}

static double seconds_of(s64 sec, s64 part, double unit)
{
    return sec < 0 || part < 0 ? -1 : (double)sec + (double)part * unit;
}

static int socket_option(const struct timed *c)
{
    return c->limit == LIMIT_RECEIVE ? SO_RCVTIMEO : SO_SNDTIMEO;
}

/* A socket of the program's. */
static int get_socket(const struct process *p, u64 fd)
{
    return p->pid_fd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, p->pid_fd, fd, 0);
}

/* How long a call may wait, in seconds; negative: for ever, or it says nothing sensible. */
static double limit_of(const struct process *p, const struct timed *c,
                       const struct user_regs_struct *r)
{
    s64 time[2];
    struct timeval own = {0};
    u64 x = limit_register(c, r);
    if (c->limit == LIMIT_MS)
        return (double)(s32)(u32)x * 1e-3;
    if (c->limit == LIMIT_TIME)
        return x && pread(p->mem_fd, time, sizeof time, (off_t)x) == sizeof time
                   ? seconds_of(time[0], time[1], 1e-9)
                   : -1;
    int fd = get_socket(p, x);
    bool known = fd >= 0 &&
                 getsockopt(fd, SOL_SOCKET, socket_option(c), &own, &(socklen_t){sizeof own}) == 0;
    if (fd >= 0)
        close(fd);
    return known && (own.tv_sec || own.tv_usec) ? seconds_of(own.tv_sec, own.tv_usec, 1e-6) : -1;
}

/* -- Remembering ---------------------------------------------------------------------------------- */

/* How often it has gone to sleep. */
static u64 sleeps_of(pid_t tid)
{
    char value[64];
    return pids_status(tid, "voluntary_ctxt_switches", value, sizeof value)
               ? strtoull(value, NULL, 10)
               : 0;
}

/* How long it has run, in nanoseconds; 0 if the kernel does not tell. */
static u64 ran_of(pid_t tid)
{
    char path[64];
    unsigned long ran = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", tid);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%lu", &ran) != 1)
        ran = 0;
    if (f)
        fclose(f);
    return ran;
}

static struct wait *find_wait(struct run *r, pid_t tid)
{
    for (size_t i = 0; i < r->waits.n; i++)
        if (r->waits.v[i].tid == tid)
            return &r->waits.v[i];
    return NULL;
}

/* Does the thread wait as it did when it was let go? It has gone to sleep twice since, to wait and to be stopped, and hardly run. */
static bool is_same(const struct wait *w, const struct user_regs_struct *r)
{
    return w->nr == r->rax && w->pc == r->rip && w->sp == r->rsp &&
           (!w->sleeps || (sleeps_of(w->tid) - w->sleeps <= 2 && ran_of(w->tid) - w->ran < RUN_NS));
}

void waits_note(struct process *p, pid_t tid, const struct user_regs_struct *r, double began)
{
    const struct timed *c = find_call(r->rax);
    double limit = c ? limit_of(p, c, r) : -1;
    struct wait *w = find_wait(p->run, tid);
    if (limit < 0)
        return;
    if (!w) {
        vec_push(&p->run->waits, ((struct wait){.tid = tid}));
        w = &p->run->waits.v[p->run->waits.n - 1];
    } else if (is_same(w, r)) {
        w->sleeps = 0;
        return;
    }
    *w = (struct wait){tid, r->rax, r->rip, r->rsp, MIN(began, monotonic()) + limit, 0, 0};
}

void waits_forget(struct run *r, bool ours)
{
    for (size_t i = r->waits.n; i-- > 0;)
        if (!r->waits.v[i].sleeps == ours)
            r->waits.v[i] = r->waits.v[--r->waits.n];
}

void waits_forget_one(struct run *r, pid_t tid)
{
    struct wait *w = find_wait(r, tid);
    if (w)
        *w = r->waits.v[--r->waits.n];
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

/* The kernel looks at the limit when the call begins; then the program may have it back. */
static void go_to_sleep(pid_t tid)
{
    ptrace(PTRACE_DETACH, tid, 0, 0);
    for (u32 i = 0; i < SLEEP_TRIES && is_running(tid); i++)
        usleep(SLEEP_US);
}

static void lend_time(struct process *p, pid_t tid, u64 at, double left)
{
    s64 own[2], rest[2] = {(s64)left, (s64)((left - floor(left)) * 1e9)};
    bool lent = pread(p->mem_fd, own, sizeof own, (off_t)at) == sizeof own &&
                pwrite(p->mem_fd, rest, sizeof rest, (off_t)at) == sizeof rest;
    go_to_sleep(tid);
    if (lent && pwrite(p->mem_fd, own, sizeof own, (off_t)at) != sizeof own)
        return; /* it has ended */
}

static void lend_socket_limit(struct process *p, pid_t tid, const struct timed *c, u64 socket,
                              double left)
{
    struct timeval own,
        rest = {(time_t)left, 1 + (suseconds_t)((left - floor(left)) * 1e6)}; /* 0 is for ever */
    int fd = get_socket(p, socket);
    rest.tv_usec = MIN(rest.tv_usec, 999999);
    bool lent = fd >= 0 &&
                getsockopt(fd, SOL_SOCKET, socket_option(c), &own, &(socklen_t){sizeof own}) == 0 &&
                setsockopt(fd, SOL_SOCKET, socket_option(c), &rest, sizeof rest) == 0;
    go_to_sleep(tid);
    if (lent)
        setsockopt(fd, SOL_SOCKET, socket_option(c), &own, sizeof own);
    if (fd >= 0)
        close(fd);
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
    if (left < hold && c->result != NO_RESULT && c->limit != LIMIT_MS) {
        usleep((useconds_t)(left * 1e6) + 1);
        left = 0;
    }
    bool over = left <= 0;
    u64 at = limit_register(c, r);
    if (over && c->result != NO_RESULT) {
        r->rax = (u64)(s64)c->result;
        r->rip += 2;
    } else if (c->limit == LIMIT_MS && is_dead(p, r->rip + 2, LIVE_REG(c->reg), &budget)) {
        r->r10 = (u64)MIN(ceil(left * 1e3), (double)(u32)at);
    }
    ptrace(PTRACE_SETREGS, tid, 0, r);
    w->sleeps = sleeps_of(tid);
    w->ran = ran_of(tid);
    if (over)
        waits_forget_one(p->run, tid);
    if (c->limit == LIMIT_MS || (over && c->result != NO_RESULT))
        ptrace(PTRACE_DETACH, tid, 0, 0);
    else if (c->limit == LIMIT_TIME)
        lend_time(p, tid, at, left);
    else
        lend_socket_limit(p, tid, c, at, left);
}
