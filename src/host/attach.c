/* SPDX-License-Identifier: MIT */
/* Take over a process that runs already, and let it go again.
 *
 * In: all its threads are stopped wherever they are; each gets a block with its registers, and goes on in the guest. A system call
 * that our stop has interrupted begins again there: nobody is told EINTR because of us.
 *
 * Out: the gates are closed, and threads that come to one wait there. Those that wait in a system call come to no gate for long. All are
 * stopped where they wait and put back into the program's own code; when all are, the program gets its handlers back, the shared pages
 * are unmapped, and all go on together: none of them ever meets anything of ours. */
#include "host/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

enum {
    LEAVE_TRIES = 50000,
    LEAVE_US = 100,
    GRACE = 10 /* tries before those that wait are looked at */
};
enum {
    STOP_TRIES = 10000,
    STOP_US = 100 /* how long a thread may take to stop: a second at least */
};

/* A thread that we have stopped. */
struct stopped {
    pid_t tid;
    struct user_regs_struct regs;
    u64 mask;
};
struct stops {
    VEC(struct stopped) v;
    double since; /* when the first was to stop; 0: none yet */
};

/* -- System calls that were interrupted ---------------------------------------------------------- */

enum { RESTART_SYS = 512, RESTART_NOINTR, RESTART_NOHAND, RESTART_BLOCK = 516 };

/* The kernel's word for why the system call that the thread waits in is over; 0 if it does not wait. What says EINTR has done nothing, but
 * for close. */
static u32 interruption(const struct user_regs_struct *r)
{
    s64 nr = (s64)r->orig_rax, result = (s64)r->rax;
    if (nr < 0)
        return 0;
    if (result == -RESTART_SYS || result == -RESTART_NOINTR || result == -RESTART_NOHAND ||
        result == -RESTART_BLOCK)
        return (u32)-result;
    return result == -EINTR && nr != SYS_close ? EINTR : 0;
}

/* Put a thread that waits in a system call before it. */
static void restart(struct user_regs_struct *r)
{
    u32 why = interruption(r);
    if (why) {
        r->rax = why == RESTART_BLOCK ? SYS_restart_syscall : r->orig_rax;
        r->rip -= 2;
    }
    r->orig_rax = (unsigned long)-1;
}

/* -- Asking the kernel ---------------------------------------------------------------------------- */

static bool has_ended(pid_t tid)
{
    char state[64];
    return !pids_status(tid, "State", state, sizeof state) || state[0] == 'Z' || state[0] == 'X';
}

static u64 status_number(pid_t tid, const char *name, int base)
{
    char value[64];
    return pids_status(tid, name, value, sizeof value) ? strtoull(value, NULL, base) : 0;
}

/* Will it take a signal when it goes on? One for the whole process the kernel gives to the first thread, if it can. */
static bool has_signal(const struct process *p, const struct stopped *s)
{
    u64 pending = status_number(s->tid, "SigPnd", 16);
    if (s->tid == p->pid)
        pending |= status_number(s->tid, "ShdPnd", 16);
    return pending & ~s->mask;
}

/* -- Stopping ----------------------------------------------------------------------------------- */

/* Wait until it is stopped for us alone; a signal on its way is let through before. 1, 0 if it has ended, -1 if it does not stop in time. */
static int wait_for_stop(pid_t tid, u32 tries)
{
    u32 i = 0;
    for (int status; i < tries; i++) {
        pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
        if (got < 0 && errno != EINTR)
            return 0;
        if (got <= 0) {
            if (i + 1 < tries)
                usleep(i ? STOP_US : 0);
            continue;
        }
        if (!WIFSTOPPED(status))
            return 0;
        if (status >> 16 == PTRACE_EVENT_STOP)
            return 1;
        ptrace(PTRACE_CONT, tid, 0, WSTOPSIG(status));
    }
    errno = EBUSY;
    return -1;
}

/* Make a thread stop: 1, 0 if it has ended, -1 if it may not be. */
static int interrupt(pid_t tid)
{
    if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) < 0) {
        int why = errno;
        bool gone = why == ESRCH || has_ended(tid); /* one that ends just now may not be traced */
        errno = why;
        return gone ? 0 : -1;
    }
    return ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0;
}

/* Wait until it has, and look at it. */
static int look_at_stop(pid_t tid, struct stopped *s, u32 tries)
{
    *s = (struct stopped){.tid = tid};
    int got = wait_for_stop(tid, tries);
    if (got == 1 && (ptrace(PTRACE_GETREGS, tid, 0, &s->regs) < 0 ||
                     ptrace(PTRACE_GETSIGMASK, tid, sizeof s->mask, &s->mask) < 0))
        return 0;
    return got;
}

static bool is_stopped(const struct stops *s, pid_t tid)
{
    for (size_t i = 0; i < s->v.n; i++)
        if (s->v.v[i].tid == tid)
            return true;
    return false;
}

static void list_threads(pid_t pid, struct pids *to)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *d = opendir(path);
    for (struct dirent *x; d && (x = readdir(d));)
        if (atoi(x->d_name) > 0)
            vec_push(to, (pid_t)atoi(x->d_name));
    if (d)
        closedir(d);
}

/* Tell those threads to stop that are not yet among the stopped; false with an errno if one may not be. */
static bool interrupt_more(pid_t pid, const struct stops *s, struct pids *told)
{
    struct pids threads = {0};
    int got = 0, why = 0;
    list_threads(pid, &threads);
    for (size_t i = 0; i < threads.n && got >= 0; i++) {
        if (is_stopped(s, threads.v[i]))
            continue;
        got = interrupt(threads.v[i]);
        why = errno;
        if (got > 0)
            vec_push(told, threads.v[i]);
    }
    vec_fini(&threads);
    errno = why;
    return got >= 0;
}

/* Stop those threads that are not yet; how many there were, or -1 with an errno. */
static int stop_more(const struct process *p, struct stops *s, u32 tries)
{
    struct pids told = {0};
    int more = 0, why = 0;
    if (!s->since)
        s->since = monotonic();
    if (!interrupt_more(p->pid, s, &told))
        why = errno;
    boost_lend(p->boost);
    for (size_t i = 0; i < told.n; i++) {
        struct stopped t;
        int got = look_at_stop(told.v[i], &t, tries);
        if (got < 0)
            why = errno;
        if (got > 0)
            vec_push(&s->v, t);
        more += got > 0;
    }
    vec_fini(&told);
    errno = why;
    return why ? -1 : more;
}

/* Let a thread go on as it was. What the kernel does not begin again by itself, we do: it would say EINTR because of us. */
static void let_go(struct process *p, struct stopped *s)
{
    if (interruption(&s->regs) != EINTR || has_signal(p, s)) {
        ptrace(PTRACE_DETACH, s->tid, 0, 0);
        return;
    }
    restart(&s->regs);
    waits_note(p, s->tid, &s->regs, monotonic());
    waits_let_go(p, s->tid, &s->regs);
}

/* Those first that need nothing else. */
static void let_all_go(struct process *p, struct stops *s)
{
    boost_end(&p->boost);
    for (u32 eintr = 0; eintr < 2; eintr++)
        for (size_t i = 0; i < s->v.n; i++)
            if ((interruption(&s->v.v[i].regs) == EINTR) == eintr)
                let_go(p, &s->v.v[i]);
    vec_fini(&s->v);
}

/* A thread may make another while we stop the rest. An errno if one may not be stopped, or there is none. */
static int stop_all(struct process *p, struct stops *s, u32 tries)
{
    int more;
    while ((more = stop_more(p, s, tries)) > 0)
        ;
    if (more == 0 && s->v.n)
        return 0;
    int why = more < 0 ? errno : ESRCH;
    let_all_go(p, s);
    return why;
}

/* How this thread is scheduled when it is in no hurry. */
struct pace {
    int policy;
    struct sched_param param;
};

/* Those who answer the program's threads and empty their buffers: they may have to, before a thread comes to where it can stop. */
static void hurry_servers(struct process *p, int policy, int priority)
{
    const struct sched_param param = {.sched_priority = priority};
    pthread_setschedparam(p->serve_thread, policy, &param);
    for (u32 i = 0; i < p->n_drains; i++)
        pthread_setschedparam(p->drains[i].thread, policy, &param);
}

/* While threads stand still, nobody is to come before us, and only we before them; if we may. Threads that we make meanwhile are like any
 * other. */
static struct pace hurry(struct process *p, const struct pids *threads)
{
    struct pace own = {.policy = sched_getscheduler(0)};
    sched_getparam(0, &own.param);
    if (!sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &(struct sched_param){.sched_priority = PRIORITY_OURS}))
        p->boost = boost_begin(threads);
    return own;
}

static void slow_down(struct process *p, const struct pace *own)
{
    boost_end(&p->boost);
    sched_setscheduler(0, own->policy, &own->param);
}

static void note_pause(double *worst, double since)
{
    *worst = MAX(*worst, monotonic() - since);
}

/* -- Refusing ------------------------------------------------------------------------------------ */

#define REFUSE(e, pid, ...) refuse(e, pid, (char[256]){0}, 256, __VA_ARGS__)

__attribute__((format(printf, 5, 6))) static int refuse(struct err *e, pid_t pid, char *why,
                                                        size_t room, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(why, room, format, list);
    va_end(list);
    return err_set(e, "cannot attach to process %d: %s", pid, why);
}

/* What can be seen before anything is stopped. */
static int check_process(pid_t pid, struct err *e)
{
    char value[64], name[64] = "";
    if (!pids_status(pid, "State", value, sizeof value))
        return REFUSE(e, pid, "there is none of this number");
    if (value[0] == 'Z' || value[0] == 'X')
        return REFUSE(e, pid, "it has ended, and only waits for its parent to notice");
    if (value[0] == 'T')
        return REFUSE(e, pid, "it is stopped; let it go on first, with `kill -CONT %d`", pid);
    if (!pids_status(pid, "VmSize", value, sizeof value))
        return REFUSE(e, pid, "it is a thread of the kernel, and has no program");
    pid_t group = (pid_t)status_number(pid, "Tgid", 10),
          tracer = (pid_t)status_number(pid, "TracerPid", 10);
    if (pid == getpid() || group == getpid())
        return REFUSE(e, pid, "it is gait itself");
    if (group != pid)
        return REFUSE(e, pid, "it is a thread of process %d; attach to that", group);
    if (pid == getppid())
        return REFUSE(
            e, pid,
            "it is gait's own parent, which waits for gait; start gait from somewhere else");
    if (tracer) {
        pids_status(tracer, "Name", name, sizeof name);
        return REFUSE(e, pid, "%s (process %d) traces it already; end that first", name, tracer);
    }
    if (status_number(pid, "Seccomp", 10))
        return REFUSE(
            e, pid,
            "it has a seccomp filter, which might kill it for a system call that gait needs");
    return 0;
}

static char yama_scope(void)
{
    char scope = '0';
    FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (f && fread(&scope, 1, 1, f) != 1)
        scope = '0';
    if (f)
        fclose(f);
    return scope;
}

static int refuse_stop(pid_t pid, int why, struct err *e)
{
    uid_t owner = (uid_t)status_number(pid, "Uid", 10);
    char scope = yama_scope();
    if (why == EBUSY)
        return REFUSE(e, pid,
                      "one of its threads is in a system call that nothing interrupts; try again");
    if (why == ESRCH || has_ended(pid))
        return REFUSE(e, pid, "it has just ended");
    if (why != EPERM)
        return REFUSE(e, pid, "%s", strerror(why));
    if (owner != geteuid() && geteuid())
        return REFUSE(e, pid, "it belongs to another user (%u); run gait as that user, or as root",
                      owner);
    if (scope == '3')
        return REFUSE(e, pid,
                      "the kernel allows nobody to trace anything (kernel.yama.ptrace_scope is 3, "
                      "until the next boot)");
    if (scope != '0')
        return REFUSE(e, pid,
                      "the kernel allows only parents to trace (kernel.yama.ptrace_scope is %c); "
                      "allow it with "
                      "`sysctl kernel.yama.ptrace_scope=0`, or run gait as root",
                      scope);
    return REFUSE(e, pid,
                  "the kernel does not allow to trace it: it has privileges that gait has not, or "
                  "protects itself; run gait as root");
}

/* -- In ------------------------------------------------------------------------------------------ */

/* Do other system calls of a thread than we expect have an end of its own? Then its calls must not be made to come to us. */
static bool is_guarded(pid_t tid)
{
    const enum __ptrace_request get_dispatch = (enum __ptrace_request)0x4211;
    struct {
        u64 mode, selector, offset, length;
    } config = {0};
    char seccomp[8] = "0";
    pids_status(tid, "Seccomp", seccomp, sizeof seccomp);
    return seccomp[0] != '0' || (ptrace(get_dispatch, tid, sizeof config, &config) == 0 && config.mode);
}

static void enter_threads(struct process *p, struct stops *s)
{
    u64 all = ~0ull;
    struct control *c = p->control;
    c->threads = c->blocks = (u32)s->v.n;
    c->sighand[0].users = (u32)s->v.n;
    c->attached = c->has_rseq = 1;
    c->near = 0;
    for (size_t i = 0; i < s->v.n; i++) {
        struct stopped *x = &s->v.v[i];
        struct thread *t = process_thread(p, (u32)i);
        u32 why = interruption(&x->regs);
        c->rests = c->rests && !is_guarded(x->tid);
        restart(&x->regs);
        if (why == EINTR)
            waits_note(p, x->tid, &x->regs, s->since);
        inject_thread(p, (u32)i, (u32)pids_seen(x->tid), &x->regs);
        t->interrupted = why;
        t->held = HELD_back;
        t->task_mask = x->mask;
        ptrace(PTRACE_SETSIGMASK, x->tid, sizeof all, &all);
    }
    waits_forget(p->run, false);
    boost_end(&p->boost);
    for (size_t i = 0; i < s->v.n; i++)
        inject_enter(p, (u32)i, s->v.v[i].tid, s->v.v[i].regs);
    vec_fini(&s->v);
}

/* The first window of a run, or another one. */
static void note_process(struct process *p)
{
    struct run *r = p->run;
    struct trace_process x = {.how = r->result->stats.windows ? TRACE_BY_again : TRACE_BY_command,
                              .from = r->attached_as};
    r->attached_as = p->number = tracks_image(r, &x, p->pid);
    r->result->stats.windows++;
}

static int enter_process(struct process *p, struct err *e)
{
    struct stops s = {0};
    waits_forget(p->run, true);
    if (check_process(p->pid, e))
        return -1;
    int why = stop_all(p, &s, STOP_TRIES);
    if (why)
        return refuse_stop(p->pid, why, e);
    if (s.v.n > WIRE_THREADS) {
        REFUSE(e, p->pid, "it has %zu threads, and at most %d can be traced", s.v.n, WIRE_THREADS);
    } else if (start_image_fault(p->pid) == TRACE_UNTRACED_bits) {
        REFUSE(e, p->pid, "it is a 32-bit program, and gait traces 64-bit ones");
    } else if (inject(p, e) == 0) {
        note_process(p);
        process_begin(p);
        process_serve(p);
        enter_threads(p, &s);
        note_pause(&p->run->result->stats.attach_pause, s.since);
        return 0;
    }
    let_all_go(p, &s);
    return -1;
}

int attach_begin(struct run *r, struct err *e)
{
    struct process *p = process_new(r, r->options->attach);
    struct pids threads = {0};
    r->root_ended = true; /* it is nobody's child of ours */
    window_begin(r);
    list_threads(p->pid, &threads);
    const struct pace own = hurry(p, &threads);
    int failed = enter_process(p, e);
    slow_down(p, &own);
    vec_fini(&threads);
    if (failed) {
        process_free(p);
        return -1;
    }
    if (!r->attached_fd)
        r->attached_fd = fcntl(p->pid_fd, F_DUPFD_CLOEXEC, 3);
    r->detached = false;
    r->result->ran = true;
    return 0;
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

/* The program's registers at t->pc. After a system call that the thread waits in the kernel has set the others, and sees to the rest. */
static void native_registers(const struct process *p, const struct thread *t, bool waits,
                             struct user_regs_struct *r)
{
    enum { TRAP_FLAG = 0x100 };
    u64 regs[16];
    memcpy(regs, t->regs, sizeof regs);
    if (t->swapped && t->swapped <= 16)
        regs[t->swapped - 1] = t->swapped_value;
    r->rdx = regs[RDX], r->rbx = regs[RBX], r->rsp = regs[RSP], r->rbp = regs[RBP];
    r->rsi = regs[RSI], r->rdi = regs[RDI], r->r8 = regs[R8], r->r9 = regs[R9], r->r10 = regs[R10];
    r->r12 = regs[R12], r->r13 = regs[R13], r->r14 = regs[R14], r->r15 = regs[R15];
    r->rcx = t->pc;
    r->r11 = t->flags;
    if (!waits) {
        r->rax = regs[RAX], r->rcx = regs[RCX];
        r->r11 = p->control->events == EVENTS_none ? t->ptr : t->app_r11;
        r->orig_rax = (unsigned long)-1;
        r->cs = t->selectors[0];
    }
    r->rip = t->pc;
    if (!waits &&
        t->interrupted) { /* it has not come to begin its call again: as if it still waited */
        r->orig_rax = regs[RAX];
        r->rax = (u64) - (s64)t->interrupted;
        r->rip += 2;
    }
    r->eflags = t->flags | (t->traced ? TRAP_FLAG : 0);
    r->gs_base = t->app_gs;
}

/* The stack for signals is the program's again, and its system calls concern nobody else. */
static int restore_stack(struct process *p, struct stopped *s, const struct thread *t,
                         struct err *e)
{
    struct remote m = {.pid = s->tid, .mem_fd = p->mem_fd, .at = p->remote};
    u64 at = t->self + offsetof(struct thread, stack);
    if (remote_begin(&m, e))
        return -1;
    if (!t->stack.size)
        process_thread(p, t->block)->stack.flags = 2; /* SS_DISABLE, or the kernel refuses it */
    REMOTE(&m, SYS_sigaltstack, at, 0);
    if (load_relaxed(&t->dispatches))
        REMOTE(&m, SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
    return remote_end(&m, e);
}

/* When the call that a thread of the guest is in began there. */
static double call_began(const struct process *p, const struct thread *t)
{
    const struct run *r = p->run;
    double now = monotonic(), hz = (double)(__rdtsc() - r->began_tsc) / (now - r->began);
    u64 began = load_relaxed(&t->call_began);
    return began > r->began_tsc ? r->began + (double)(began - r->began_tsc) / hz : now;
}

/* Where a thread waits in a system call of the program's, it can be led out. If a signal comes just now, that is the guest's. */
static bool waits_in_call(const struct process *p, const struct thread *t, const struct stopped *s)
{
    return s->regs.rip == p->call_returned && interruption(&s->regs) &&
           !load_relaxed(&t->pending) && !load_relaxed(&t->cloning) && !load_relaxed(&t->execing) &&
           !has_signal(p, s);
}

/* A wait with a time limit goes on by the same clock. */
static void note_wait(struct process *p, const struct thread *t, const struct stopped *s)
{
    struct user_regs_struct before = s->regs;
    restart(&before);
    if (load_relaxed(&t->n_syscalls) > 1) /* not the one that it was in when it came to us */
        waits_forget_one(p->run, s->tid);
    waits_note(p, s->tid, &before, call_began(p, t));
}

/* It is put back into the program's code, and stays stopped there until all others are. */
static void lead_out(struct process *p, struct thread *t, struct stopped *s, struct stops *out)
{
    struct err ignored;
    bool parked = load_acquire(&t->parked);
    if (!parked && (!waits_in_call(p, t, s) || restore_stack(p, s, t, &ignored))) {
        ptrace(PTRACE_DETACH, s->tid, 0, 0);
        return;
    }
    s->mask = parked ? t->task_mask : s->mask | t->blocked;
    native_registers(p, t, !parked, &s->regs);
    ptrace(PTRACE_SETREGS, s->tid, 0, &s->regs);
    ptrace(PTRACE_SETSIGMASK, s->tid, sizeof s->mask, &s->mask);
    if (interruption(&s->regs) == EINTR)
        note_wait(p, t, s);
    vec_push(&out->v, *s);
    __atomic_fetch_sub(&p->control->sighand[t->sighand % SIGHANDS].users, 1, __ATOMIC_ACQ_REL);
    store_release(&t->left, 1);
}

/* Who waits for us instead is not to be stopped: the kernel remembers one call to go on with, and that may be the program's. */
static bool can_be_led_out(const struct thread *t, bool waiting)
{
    return !has_left(t) && (load_acquire(&t->parked) ||
                            (waiting && load_relaxed(&t->calling) && !load_relaxed(&t->cloning)));
}

/* Threads that were told to stop, by their blocks: their tids. They need not do so at once; in vfork they wait for another. */
struct told {
    pid_t tid[WIRE_THREADS];
};

static void lead_out_who_can(struct process *p, bool waiting, struct told *told, struct stops *out)
{
    for (u32 i = 0; i < blocks_of(p); i++) {
        struct thread *t = process_thread(p, i);
        struct stopped s;
        if (!told->tid[i] && can_be_led_out(t, waiting)) {
            pid_t tid = pids_of_thread(p, t);
            if (interrupt(tid) > 0)
                told->tid[i] = tid;
        }
        int got = told->tid[i] ? look_at_stop(told->tid[i], &s, 1) : -1;
        if (got >= 0)
            told->tid[i] = 0;
        if (got > 0)
            lead_out(p, t, &s, out);
    }
}

/* Which actions are the process's: not those of a child that shares its memory. */
static u32 sighand_of(const struct process *p)
{
    for (u32 i = 0; i < blocks_of(p); i++)
        if (load_relaxed(&process_thread(p, i)->in_use) &&
            load_relaxed(&process_thread(p, i)->made) != TASK_sharer)
            return load_relaxed(&process_thread(p, i)->sighand) % SIGHANDS;
    return 0;
}

/* The program's actions, where ours still stand. */
static void restore_actions(struct process *p, struct remote *m)
{
    u64 actions = p->base + WIRE_CTL_OFF + offsetof(struct control, sighand) +
                  sighand_of(p) * sizeof(struct sighand) + offsetof(struct sighand, action);
    u64 room = p->base + WIRE_CTL_OFF + offsetof(struct control, scratch);
    u64 caught = status_number(p->pid, "SigCgt", 16);
    for (u32 sig = 1; sig <= 64; sig++) {
        if (!(caught >> (sig - 1) & 1))
            continue;
        REMOTE(m, SYS_rt_sigaction, sig, 0, room, 8);
        u64 handler = p->control->scratch[0], own = p->base + WIRE_GUEST_OFF;
        if (handler - own < WIRE_GUEST_SIZE)
            REMOTE(m, SYS_rt_sigaction, sig, actions + (sig - 1) * sizeof(struct action), 0, 8);
    }
}

static bool is_in_pages(const struct process *p, u64 pc)
{
    return pc - p->base < WIRE_SIZE;
}

/* With all threads stopped, none of them in our pages: false if one still is. */
static bool unmap(struct process *p, struct stops *s)
{
    struct remote m = {.pid = s->v.v[0].tid, .mem_fd = p->mem_fd};
    struct err ignored;
    for (size_t i = 0; i < s->v.n; i++)
        if (is_in_pages(p, s->v.v[i].regs.rip))
            return false;
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
    bool out = false;
    struct stops s = {0};
    struct told told = {0};
    struct pids threads = {0};
    list_threads(p->pid, &threads);
    const struct pace own = hurry(p, &threads);
    hurry_servers(p, SCHED_RR, PRIORITY_OURS);
    s.since = monotonic();
    store_release(&p->control->leaving, 1);
    gates_close(p);
    boost_lend(p->boost);
    for (u32 i = 0; i < LEAVE_TRIES && !all_have_left(p); i++) {
        gates_close(p);
        usleep(LEAVE_US);
        lead_out_who_can(p, i % GRACE == GRACE - 1, &told, &s);
        follow_look(p->run);
    }
    for (u32 i = 0; i < LEAVE_TRIES && !out && all_have_left(p); i++) {
        if (stop_all(p, &s, UINT32_MAX)) /* tasks that ran natively, besides */
            break;
        out = unmap(p, &s);
        let_all_go(p, &s);
        note_pause(&p->run->result->stats.leave_pause, s.since);
        s.since = 0;
        if (!out)
            usleep(LEAVE_US);
    }
    let_all_go(p, &s);
    hurry_servers(p, SCHED_OTHER, 0);
    slow_down(p, &own);
    vec_fini(&threads);
    return out;
}
