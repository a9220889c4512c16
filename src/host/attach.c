/* SPDX-License-Identifier: MIT */
/* Take over a process that runs already, and let it go again.
 *
 * In: all its threads are stopped wherever they are; each gets a block with its registers, and goes on in the guest. A system call
 * that our stop has interrupted begins again there: nobody is told EINTR because of us.
 *
 * Out: the gates are closed, and threads that come to one leave for native code, as they do when gait dies. Those that wait in a system
 * call come to no gate for long: they are stopped and put back into the program's own code here, before that call. When all are out,
 * the shared pages are unmapped, and nothing of ours is left. */
#include "host/process.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAVE_TRIES = 2000, LEAVE_US = 500, GRACE = 10 /* tries before those that wait are looked at */ };

/* A thread that we have stopped. */
struct stopped {
    pid_t tid;
    struct user_regs_struct regs;
    u64 mask;
};
struct stops {
    VEC(struct stopped) v;
};

/* -- System calls that were interrupted ---------------------------------------------------------- */

enum { RESTART_SYS = 512, RESTART_NOINTR, RESTART_NOHAND, RESTART_BLOCK = 516 };

/* Calls that say EINTR have done nothing, these excepted. */
static bool is_lost_by_eintr(u64 nr)
{
    return nr == SYS_close || nr == SYS_connect;
}

/* Put a thread that waits in a system call before it. False if it does not wait. */
static bool restart(struct user_regs_struct *r)
{
    s64 nr = (s64)r->orig_rax, result = (s64)r->rax;
    if (nr < 0)
        return false;
    r->orig_rax = (unsigned long)-1;
    if (result == -RESTART_SYS || result == -RESTART_NOINTR || result == -RESTART_NOHAND ||
        (result == -EINTR && !is_lost_by_eintr((u64)nr)))
        r->rax = (u64)nr;
    else if (result == -RESTART_BLOCK)
        r->rax = SYS_restart_syscall;
    else
        return false;
    r->rip -= 2;
    return true;
}

/* -- Asking the kernel ---------------------------------------------------------------------------- */

/* What the kernel tells of a task under this name; false if it tells nothing. */
static bool read_status(pid_t pid, const char *name, char *value, size_t room)
{
    char path[64], line[256];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f))
        if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':') {
            snprintf(value, room, "%s", line + strlen(name) + 1 + strspn(line + strlen(name) + 1, " \t"));
            value[strcspn(value, "\n")] = 0;
            found = true;
        }
    if (f)
        fclose(f);
    return found;
}

static bool has_ended(pid_t tid)
{
    char state[64];
    return !read_status(tid, "State", state, sizeof state) || state[0] == 'Z' || state[0] == 'X';
}

/* -- Stopping ----------------------------------------------------------------------------------- */

/* Wait until it is stopped for us alone; a signal on its way is let through before. False if it has ended. */
static bool wait_for_stop(pid_t tid)
{
    for (int status;;) {
        if (waitpid(tid, &status, __WALL) < 0) {
            if (errno == EINTR)
                continue;
            return false;
        }
        if (!WIFSTOPPED(status))
            return false;
        if (status >> 16 == PTRACE_EVENT_STOP)
            return true;
        ptrace(PTRACE_CONT, tid, 0, WSTOPSIG(status));
    }
}

/* Seize and stop one thread: 1, 0 if it has ended, -1 if it may not be. */
static int stop_thread(pid_t tid, struct stopped *s)
{
    *s = (struct stopped){.tid = tid};
    if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0) {
        int why = errno;
        bool gone = why == ESRCH || has_ended(tid); /* one that ends just now may not be traced */
        errno = why;
        return gone ? 0 : -1;
    }
    if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0 || !wait_for_stop(tid) ||
        ptrace(PTRACE_GETREGS, tid, 0, &s->regs) < 0 ||
        ptrace(PTRACE_GETSIGMASK, tid, sizeof s->mask, &s->mask) < 0)
        return 0;
    return 1;
}

static bool is_stopped(const struct stops *s, pid_t tid)
{
    for (size_t i = 0; i < s->v.n; i++)
        if (s->v.v[i].tid == tid)
            return true;
    return false;
}

/* Stop those threads that are not yet; how many there were, or -1. */
static int stop_more(pid_t pid, struct stops *s)
{
    char path[64];
    int more = 0;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *d = opendir(path);
    for (struct dirent *x; d && (x = readdir(d));) {
        struct stopped t;
        pid_t tid = (pid_t)atoi(x->d_name);
        if (tid <= 0 || is_stopped(s, tid))
            continue;
        int got = stop_thread(tid, &t);
        if (got < 0) {
            closedir(d);
            return -1;
        }
        if (got)
            vec_push(&s->v, t);
        more += got;
    }
    if (d)
        closedir(d);
    return more;
}

/* Let a thread go on as it was. What the kernel does not begin again by itself, we do: it would say EINTR because of us. */
static void let_go(struct stopped *s)
{
    if ((s64)s->regs.rax == -EINTR && restart(&s->regs))
        ptrace(PTRACE_SETREGS, s->tid, 0, &s->regs);
    ptrace(PTRACE_DETACH, s->tid, 0, 0);
}

static void let_all_go(struct stops *s)
{
    for (size_t i = 0; i < s->v.n; i++)
        let_go(&s->v.v[i]);
    vec_fini(&s->v);
}

/* A thread may make another while we stop the rest. An errno if one may not be stopped, or there is none. */
static int stop_all(pid_t pid, struct stops *s)
{
    int more;
    while ((more = stop_more(pid, s)) > 0)
        ;
    if (more == 0 && s->v.n)
        return 0;
    int why = more < 0 ? errno : ESRCH;
    let_all_go(s);
    return why;
}

/* -- Refusing ------------------------------------------------------------------------------------ */

static int refuse(pid_t pid, const char *why, struct err *e)
{
    return err_set(e, "cannot attach to process %d: %s", pid, why);
}

/* What can be seen before anything is stopped. */
static int check_process(pid_t pid, struct err *e)
{
    char value[64], why[128];
    if (!read_status(pid, "State", value, sizeof value))
        return refuse(pid, "there is none of this number", e);
    if (value[0] == 'Z' || value[0] == 'X')
        return refuse(pid, "it has ended, and only waits for its parent to notice", e);
    if (!read_status(pid, "VmSize", value, sizeof value))
        return refuse(pid, "it is a thread of the kernel, and has no program", e);
    if (read_status(pid, "Tgid", value, sizeof value) && atoi(value) != pid) {
        snprintf(why, sizeof why, "it is a thread of process %d; attach to that", atoi(value));
        return refuse(pid, why, e);
    }
    if (read_status(pid, "TracerPid", value, sizeof value) && atoi(value)) {
        snprintf(why, sizeof why, "process %d traces it already; end that first", atoi(value));
        return refuse(pid, why, e);
    }
    if (pid == getpid())
        return refuse(pid, "it is gait itself", e);
    return 0;
}

static int refuse_stop(pid_t pid, int why, struct err *e)
{
    if (why != EPERM)
        return refuse(pid, strerror(why), e);
    return refuse(pid,
                  "it may not be traced; it must belong to the same user, and the setting kernel.yama.ptrace_scope "
                  "must be 0, or gait must run as root",
                  e);
}

/* -- In ------------------------------------------------------------------------------------------ */

static void enter_threads(struct process *p, struct stops *s)
{
    u64 all = ~0ull;
    struct control *c = p->control;
    c->threads = c->blocks = (u32)s->v.n;
    c->sighand[0].users = (u32)s->v.n;
    c->attached = c->has_rseq = 1;
    for (size_t i = 0; i < s->v.n; i++) {
        struct stopped *x = &s->v.v[i];
        struct thread *t = process_thread(p, (u32)i);
        restart(&x->regs);
        inject_thread(p, (u32)i, (u32)pids_seen(x->tid), &x->regs);
        t->held = 1;
        t->task_mask = x->mask;
        ptrace(PTRACE_SETSIGMASK, x->tid, sizeof all, &all);
    }
    for (size_t i = 0; i < s->v.n; i++)
        inject_enter(p, (u32)i, s->v.v[i].tid, s->v.v[i].regs);
    vec_fini(&s->v);
}

int attach_begin(struct process *p, struct err *e)
{
    struct stops s = {0};
    if (check_process(p->pid, e))
        return -1;
    int why = stop_all(p->pid, &s);
    if (why)
        return refuse_stop(p->pid, why, e);
    if (s.v.n > WIRE_THREADS) {
        err_set(e, "cannot attach to process %d: it has %zu threads, and at most %d can be traced",
                p->pid, s.v.n, WIRE_THREADS);
    } else if (start_image_fault(p->pid) == TRACE_UNTRACED_bits) {
        err_set(e, "cannot attach to process %d: it is a 32-bit program, and gait traces 64-bit ones",
                p->pid);
    } else if (inject(p, e) == 0) {
        struct trace_process x = {.how = TRACE_BY_command};
        p->number = tracks_image(p->run, &x, p->pid);
        process_begin(p);
        enter_threads(p, &s);
        return 0;
    }
    let_all_go(&s);
    return -1;
}

/* -- Out ----------------------------------------------------------------------------------------- */

static bool has_left(const struct thread *t)
{
    return !load_relaxed(&t->in_use) || load_relaxed(&t->left);
}

static u32 blocks_of(const struct process *p)
{
    return MIN(load_relaxed(&p->control->blocks), (u32)WIRE_THREADS);
}

static bool all_have_left(struct process *p)
{
    for (u32 i = 0; i < blocks_of(p); i++)
        if (!has_left(process_thread(p, i)))
            return false;
    return true;
}

static void close_gates(struct process *p)
{
    for (u32 i = 0; i < blocks_of(p); i++)
        store_relaxed(&process_thread(p, i)->limit, 0);
}

/* The program's registers, before the system call that the thread waits in. */
static void native_registers(const struct process *p, const struct thread *t, u64 rax,
                             struct user_regs_struct *r)
{
    u64 regs[16];
    memcpy(regs, t->regs, sizeof regs);
    if (t->swapped && t->swapped <= 16)
        regs[t->swapped - 1] = t->swapped_value;
    r->rcx = regs[RCX], r->rdx = regs[RDX], r->rbx = regs[RBX], r->rsp = regs[RSP];
    r->rbp = regs[RBP], r->rsi = regs[RSI], r->rdi = regs[RDI], r->r8 = regs[R8];
    r->r9 = regs[R9], r->r10 = regs[R10], r->r12 = regs[R12], r->r13 = regs[R13];
    r->r14 = regs[R14], r->r15 = regs[R15];
    r->r11 = p->control->events == EVENTS_none ? t->ptr : t->app_r11;
    r->rax = rax;
    r->rip = t->pc - 2;
    r->eflags = t->flags;
    r->gs_base = t->app_gs;
}

/* The stack for signals is the program's again. */
static int restore_stack(struct process *p, struct stopped *s, const struct thread *t, struct err *e)
{
    struct remote m = {.pid = s->tid, .mem_fd = p->mem_fd, .at = p->remote};
    u64 at = t->self + offsetof(struct thread, stack);
    if (remote_begin(&m, e))
        return -1;
    if (!t->stack.size)
        process_thread(p, t->block)->stack.flags = 2; /* SS_DISABLE, or the kernel refuses it */
    REMOTE(&m, SYS_sigaltstack, at, 0);
    return remote_end(&m, e);
}

/* One that waits in a system call. Our handlers stay until all have left: pass_on, in the guest, sees to signals until then. */
static void lead_out(struct process *p, struct thread *t, struct stopped *s)
{
    struct err ignored;
    struct user_regs_struct r = s->regs;
    bool waits = r.rip == p->call_returned && restart(&r) && !load_relaxed(&t->pending) &&
                 !load_relaxed(&t->cloning) && !load_relaxed(&t->execing);
    if (waits && restore_stack(p, s, t, &ignored) == 0) {
        u64 mask = s->mask | t->blocked;
        native_registers(p, t, r.rax, &r);
        ptrace(PTRACE_SETREGS, s->tid, 0, &r);
        ptrace(PTRACE_SETSIGMASK, s->tid, sizeof mask, &mask);
        __atomic_fetch_sub(&p->control->sighand[t->sighand % SIGHANDS].users, 1, __ATOMIC_ACQ_REL);
        store_release(&t->left, 1);
        ptrace(PTRACE_DETACH, s->tid, 0, 0);
        return;
    }
    let_go(s);
}

/* A task as we know it, of one as it knows itself. */
static pid_t our_tid(const struct process *p, const struct thread *t)
{
    struct pids found = {0};
    pid_t tid = (pid_t)load_relaxed(&t->tid);
    if (p->pid != p->seen) {
        pids_find(p->pid, tid, &found);
        tid = found.n > 1 ? found.v[1] : 0;
        vec_fini(&found);
    }
    return tid;
}

/* Who waits for us instead is not to be stopped: the kernel remembers one call to go on with, and that may be the program's. */
static void lead_out_those_that_wait(struct process *p)
{
    for (u32 i = 0; i < blocks_of(p); i++) {
        struct thread *t = process_thread(p, i);
        struct stopped s;
        if (!has_left(t) && load_relaxed(&t->calling) && stop_thread(our_tid(p, t), &s) > 0)
            lead_out(p, t, &s);
    }
}

/* The program's actions, where ours still stand: who leaves last restores them, unless that was done from here. */
static void restore_actions(struct process *p, struct remote *m)
{
    u64 room = p->base + WIRE_CTL_OFF + offsetof(struct control, scratch);
    for (u32 sig = 1; sig <= 64; sig++) {
        REMOTE(m, SYS_rt_sigaction, sig, 0, room, 8);
        u64 handler = p->control->scratch[0], own = p->base + WIRE_GUEST_OFF;
        u64 action = p->base + WIRE_CTL_OFF + offsetof(struct control, sighand[0].action) +
                     (sig - 1) * sizeof(struct action);
        if (handler - own < WIRE_GUEST_SIZE)
            REMOTE(m, SYS_rt_sigaction, sig, action, 0, 8);
    }
}

static bool is_in_pages(const struct process *p, u64 pc)
{
    return pc - p->base < WIRE_SIZE;
}

/* With all threads stopped, none of them in our pages: false if one still is. */
static bool unmap(struct process *p, struct stops *s)
{
    struct remote m = {.pid = p->pid, .mem_fd = p->mem_fd};
    struct err ignored;
    for (size_t i = 0; i < s->v.n; i++)
        if (is_in_pages(p, s->v.v[i].regs.rip))
            return false;
    m.pid = s->v.v[0].tid;
    if (remote_begin(&m, &ignored) == 0) {
        restore_actions(p, &m);
        REMOTE(&m, SYS_munmap, p->base, WIRE_SIZE);
        REMOTE(&m, SYS_munmap, p->jump, WIRE_JUMP_AREA);
        remote_end(&m, &ignored);
    }
    return true;
}

bool attach_end(struct process *p)
{
    struct stops s = {0};
    store_release(&p->control->leaving, 1);
    for (u32 i = 0; i < LEAVE_TRIES && !all_have_left(p); i++) {
        close_gates(p);
        usleep(LEAVE_US);
        if (i % GRACE == GRACE - 1)
            lead_out_those_that_wait(p);
    }
    bool out = false;
    for (u32 i = 0; i < LEAVE_TRIES && !out && all_have_left(p); i++) {
        if (stop_all(p->pid, &s))
            break;
        out = unmap(p, &s);
        let_all_go(&s);
        if (!out)
            usleep(LEAVE_US);
    }
    return out;
}
