/* SPDX-License-Identifier: MIT */
/* The main thread's loop: processes come, change their image, and end.
 *
 * A forked child asks for pages itself and maps them itself: no ptrace. A new image can only be
 * entered from outside: the guest tells us before the execve, we seize that one thread, and at the
 * exec event the new image is entered as the first one was; then no tracing remains. If the call
 * fails, the thread is let go before it gets its answer. */
#include "host/process.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* In epoll's data: a process's number, or one of these. */
enum { EVENT_BELL = -1, EVENT_SIGNAL = -2 };
enum { LOOK_MS = 10 /* how often to look at what tells us nothing */ };
static const double linger_seconds = 2;

/* -- Reading /proc ------------------------------------------------------------------------------ */

/* Does this task have our pages where this process has them? */
static bool has_pages(const struct process *p, pid_t pid)
{
    struct map *maps;
    bool found = false;
    for (size_t i = 0, n = maps_read(pid, &maps); i < n; i++)
        found |= maps[i].start == p->base && !strncmp(maps[i].path, "/memfd:gait", 11);
    free(maps);
    return found;
}

static bool is_task_of(const struct process *p, pid_t tid)
{
    return tid > 0 && (syscall(SYS_kcmp, p->pid, tid, KCMP_VM, 0, 0) == 0 || has_pages(p, tid));
}

/* Who a task is, it says itself: believe it only if it runs on the process's memory. 0 if none does. */
static pid_t find_task(const struct process *p, pid_t seen)
{
    struct pids pids = {0};
    pid_t tid = 0;
    if (p->pid == p->seen && is_task_of(p, seen))
        return seen;
    pids_find(p->pid, seen, &pids);
    for (size_t i = 1; i < pids.n && !tid; i++)
        if (is_task_of(p, pids.v[i]))
            tid = pids.v[i];
    vec_fini(&pids);
    return tid;
}

/* -- Ends --------------------------------------------------------------------------------------- */

/* Of the kernel's pidfd_info, what Linux 6.15 and later tell of a task that has ended. */
struct end_info {
    u64 mask, cgroup;
    u32 ids[11];
    s32 exit_code;
};
enum { END_INFO_EXIT = 1 << 3 };
#define PIDFD_END_INFO _IOWR(0xff, 11, struct end_info)

/* The status of a process that has ended, if the kernel tells. */
static bool end_of(int pid_fd, int *status)
{
    struct end_info info = {.mask = END_INFO_EXIT};
    if (ioctl(pid_fd, PIDFD_END_INFO, &info) < 0 || !(info.mask & END_INFO_EXIT))
        return false;
    *status = info.exit_code;
    return true;
}

static void note_end(struct process *p)
{
    struct run *r = p->run;
    u32 exited = load_relaxed(&p->control->exited), ending = TRACE_ENDED_unknown, code = 0;
    int status = 0;
    bool known = p->pid == r->root && r->root_ended;
    if (known)
        status = r->result->status;
    else
        known = end_of(p->pid_fd, &status);
    if (!known && exited) {
        status = (int)((exited & 0xff) << 8);
        known = true;
    }
    if (known && r->options->attach && p->number == r->attached_as) {
        r->result->status = status;
        r->attached_ended = true;
    }
    if (known) {
        ending = WIFSIGNALED(status) ? TRACE_ENDED_signal : TRACE_ENDED_exited;
        code = (u32)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    tracks_end(r, tracks_sharer(p, p->seen), ending, code);
}

/* Another process may still run on the pages: then they are its own from now on. */
static bool pass_on(struct process *p)
{
    u32 blocks = MIN(load_relaxed(&p->control->blocks), (u32)WIRE_THREADS);
    for (u32 i = 0; i < blocks; i++) {
        const struct thread *t = process_thread(p, i);
        pid_t pid = (pid_t)load_relaxed(&t->pid);
        if (!load_relaxed(&t->in_use) || pid == p->seen || pid <= 0 || !has_pages(p, pid))
            continue;
        int fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (fd < 0)
            continue;
        close(p->pid_fd);
        p->pid_fd = fd;
        p->pid = p->seen = pid;
        follow_watch(p);
        return true;
    }
    return false;
}

/* A child that begins on a block of its maker's, and has not got far enough to tell its pid. */
static bool is_beginning(const struct thread *t)
{
    u32 made = load_relaxed(&t->made);
    return load_relaxed(&t->in_use) &&
           (made == TASK_fork ||
            (made == TASK_sharer && load_relaxed(&t->pid) == load_relaxed(&t->made_by)));
}

static bool expects_child(const struct process *p)
{
    u32 blocks = MIN(load_relaxed(&p->control->blocks), (u32)WIRE_THREADS);
    for (u32 i = 0; i < blocks; i++)
        if (is_beginning(process_thread(p, i)))
            return true;
    return false;
}

/* Forget who waits in this process, or, with `all`, on these pages: they are gone. */
static void drop_waiting(struct run *r, const struct process *p, u32 from, bool all)
{
    for (size_t i = r->waiting.n; i-- > 0;)
        if (r->waiting.v[i].request.process == p && (all || r->waiting.v[i].from == from))
            r->waiting.v[i] = r->waiting.v[--r->waiting.n];
}

static void end_process(struct process *p)
{
    drop_waiting(p->run, p, 0, true);
    process_end(p);
}

/* The process has left its pages. */
static void leave_pages(struct process *p)
{
    if (pass_on(p))
        return;
    if (expects_child(p))
        p->lingers_until = monotonic() + linger_seconds;
    else
        end_process(p);
}

static void look_at_lingering(struct run *r)
{
    for (size_t i = r->processes.n; i-- > 0;) {
        struct process *p = r->processes.v[i];
        if (!p->lingers_until || (expects_child(p) && monotonic() < p->lingers_until))
            continue;
        p->lingers_until = 0;
        if (!pass_on(p))
            end_process(p);
    }
}

static struct process *find_process(struct run *r, u32 number)
{
    for (size_t i = 0; i < r->processes.n; i++)
        if (r->processes.v[i]->number == number)
            return r->processes.v[i];
    return NULL;
}

static void process_died(struct process *p)
{
    epoll_ctl(p->run->epoll, EPOLL_CTL_DEL, p->pid_fd, NULL);
    note_end(p);
    leave_pages(p);
}

/* -- Forked children ---------------------------------------------------------------------------- */

/* Make pages for the child that holds this memfd. */
static struct process *enter_child(struct process *parent, u32 block, pid_t pid, int fd)
{
    struct pids pids = {0};
    struct process *p = NULL;
    struct err why;
    vec_push(&pids, pid);
    for (size_t i = 0; i < pids.n && !p; i++) {
        p = process_new(parent->run, pids.v[i]);
        p->seen = pid;
        if (inject_adopt(p, parent, block, fd, &why) < 0) {
            process_free(p);
            p = NULL;
        }
        if (!p && i == 0)
            pids_find(parent->pid, pid, &pids);
    }
    vec_fini(&pids);
    return p;
}

static bool has_ended(pid_t pid)
{
    char path[64], state = 'X';
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = 'X';
    if (f)
        fclose(f);
    return state == 'X' || state == 'Z';
}

/* The same of a task that ptrace no longer knows: if it was killed, it will have ended in a moment. */
static bool is_ending(pid_t pid)
{
    for (int i = 0; i < 20 && !has_ended(pid); i++)
        usleep(10000);
    return has_ended(pid);
}

static u64 adopt(struct process *parent, u32 block, pid_t pid, int fd)
{
    struct run *r = parent->run;
    pid_t maker = (pid_t)load_relaxed(&process_thread(parent, block)->made_by);
    struct trace_process x = {
        .pid = (u32)pid, .from = tracks_sharer(parent, maker), .how = TRACE_BY_fork};
    struct process *p = enter_child(parent, block, pid, fd);
    if (!p && !is_ending(pid)) /* killed before it had pages: nothing of it ran */
        x.untraced = TRACE_UNTRACED_closed;
    u32 number = tracks_process(r, &x);
    if (!p)
        return 0;
    p->number = number;
    process_begin(p);
    process_serve(p);
    return 1;
}

static void handle(const struct posted *x);

/* -- New images --------------------------------------------------------------------------------- */

static struct execing *find_execing(struct run *r, pid_t tid)
{
    for (size_t i = 0; i < r->execing.n; i++)
        if (r->execing.v[i].tid == tid)
            return &r->execing.v[i];
    return NULL;
}

static void forget_execing(struct run *r, struct execing *x)
{
    *x = r->execing.v[--r->execing.n];
}

static bool is_execing(const struct run *r, const struct process *p, u32 from)
{
    for (size_t i = 0; i < r->execing.n; i++)
        if (r->execing.v[i].process == p && r->execing.v[i].from == from)
            return true;
    return false;
}

/* An execve of this process has failed: let the next one begin. */
static void exec_over(struct run *r, struct process *p, u32 from)
{
    for (size_t i = 0; i < r->waiting.n && !is_execing(r, p, from); i++) {
        struct waiting w = r->waiting.v[i];
        if (w.request.process != p || w.from != from)
            continue;
        r->waiting.v[i--] = r->waiting.v[--r->waiting.n];
        handle(&w.request);
    }
}

static u64 exec_begins(struct process *p, u32 block, pid_t seen, u32 kind)
{
    struct run *r = p->run;
    pid_t pid = (pid_t)load_relaxed(&process_thread(p, block)->pid), tid = find_task(p, seen);
    if (!tid || find_execing(r, tid) ||
        r->detached) /* being let go, it becomes another image by itself */
        return 0;
    struct execing x = {.process = p, .block = block, .tid = tid, .from = tracks_sharer(p, pid)};
    x.number = load_relaxed(&process_thread(p, block)->number);
    x.shares = load_relaxed(&process_thread(p, block)->made) == TASK_sharer;
    if (kind == EXEC_privileged)
        x.untraced = TRACE_UNTRACED_privileged;
    else if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD) < 0) {
        if (is_ending(tid))
            return 0; /* another thread's execve was faster, and has ended this one */
        x.untraced = TRACE_UNTRACED_closed;
    }
    vec_push(&r->execing, x);
    return 1;
}

/* One execve of a process at a time: the one that succeeds holds a lock of the kernel while it waits until we have buried
 * the other threads, and ptrace wants that lock to seize one of them. */
static void begin_exec(const struct posted *x, pid_t seen, u32 kind)
{
    struct process *p = x->process;
    u32 from = tracks_sharer(p, (pid_t)load_relaxed(&process_thread(p, x->block)->pid));
    if (is_execing(p->run, p, from))
        vec_push(&p->run->waiting, ((struct waiting){*x, from}));
    else
        process_answer(process_thread(p, x->block), exec_begins(p, x->block, seen, kind));
}

/* The call came back. Let the thread go, then answer it. */
static void exec_failed(struct process *p, u32 block)
{
    struct run *r = p->run;
    struct execing *x = NULL;
    for (size_t i = 0; i < r->execing.n && !x; i++)
        if (r->execing.v[i].process == p && r->execing.v[i].block == block &&
            r->execing.v[i].number == load_relaxed(&process_thread(p, block)->number))
            x = &r->execing.v[i];
    if (x && !x->untraced && ptrace(PTRACE_INTERRUPT, x->tid, 0, 0) == 0) {
        x->detaching = true;
        return;
    }
    u32 from = x ? x->from : 0;
    if (x)
        forget_execing(r, x);
    process_answer(process_thread(p, block), 1);
    exec_over(r, p, from);
}

static void let_go(struct run *r, struct execing *done, int sig)
{
    struct execing x = *done;
    ptrace(PTRACE_DETACH, x.tid, 0, sig);
    forget_execing(r, done);
    process_answer(process_thread(x.process, x.block), 1);
    exec_over(r, x.process, x.from);
}

/* Give back the block of a task that shared its maker's pages and left them by an execve. Its maker,
 * when it comes back from vfork, may be about to do the same. */
static void free_block(struct process *p, u32 block, u32 number)
{
    struct thread *t = process_thread(p, block);
    if (number == NO_NUMBER || !__atomic_compare_exchange_n(&t->number, &number, NO_NUMBER, false,
                                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    __atomic_fetch_sub(&p->control->sighand[t->sighand % SIGHANDS].users, 1, __ATOMIC_RELEASE);
    store_release(&t->in_use, 0);
}

/* The task that said so has a new image, which is or will be traced as process `now`, or is not. */
static void exec_done(struct run *r, struct execing *done, pid_t pid)
{
    struct execing x = *done;
    forget_execing(r, done);
    drop_waiting(r, x.process, x.from, false);
    tracks_end(r, x.from, TRACE_ENDED_exec, 0);
    if (pid != x.process->pid) {
        free_block(x.process, x.block, x.number);
        return;
    }
    epoll_ctl(r->epoll, EPOLL_CTL_DEL, x.process->pid_fd, NULL);
    leave_pages(x.process);
}

/* Enter the new image of a process stopped at its exec event. NULL if it cannot be; why then says
 * why. In both cases it runs and is no longer traced by us. */
static struct process *enter_image(struct run *r, pid_t pid, enum trace_untraced *why)
{
    struct process *p = process_new(r, pid);
    struct err e;
    *why = start_finish_exec(pid, &e) < 0 ? TRACE_UNTRACED_closed : start_image_fault(pid);
    if (!*why && inject(p, &e) < 0)
        *why = TRACE_UNTRACED_closed;
    if (!*why)
        return p;
    process_free(p);
    ptrace(PTRACE_DETACH, pid, 0, 0);
    if (*why == TRACE_UNTRACED_closed && is_ending(pid))
        *why =
            TRACE_UNTRACED_no; /* killed before its first instruction: there is nothing to trace */
    return NULL;
}

static void exec_happened(struct run *r, pid_t pid)
{
    unsigned long tid = 0;
    ptrace(PTRACE_GETEVENTMSG, pid, 0, &tid);
    struct execing *x = find_execing(r, (pid_t)tid);
    if (!x) {
        ptrace(PTRACE_DETACH, pid, 0, 0);
        return;
    }
    enum trace_untraced why;
    struct process *p = enter_image(r, pid, &why);
    struct trace_process t = {.from = x->from, .how = TRACE_BY_exec, .untraced = why};
    u32 number = tracks_image(r, &t, pid);
    struct err e;
    if (p) {
        p->number = number;
        process_begin(p);
        process_serve(p);
        if (inject_release(p, &e) < 0)
            ptrace(PTRACE_DETACH, pid, 0, 0);
    }
    exec_done(r, x, pid);
}

/* A task that calls execve unseized is looked at from time to time: once it has left the pages, it has
 * become what we do not trace. */
static void look_at_untraced(struct run *r)
{
    for (size_t i = r->execing.n; i-- > 0;) {
        struct execing *x = &r->execing.v[i];
        if (!x->untraced || has_pages(x->process, x->tid))
            continue;
        struct trace_process t = {.from = x->from, .how = TRACE_BY_exec, .untraced = x->untraced};
        tracks_image(r, &t, x->tid);
        exec_done(r, x, x->shares ? 0 : x->process->pid);
    }
}

/* -- Children and traced threads ---------------------------------------------------------------- */

/* A thread that we trace on its way through execve has stopped. */
static void task_stopped(struct run *r, pid_t tid, int status)
{
    int sig = WSTOPSIG(status), event = status >> 16;
    if (event == PTRACE_EVENT_EXEC) {
        exec_happened(r, tid);
        return;
    }
    bool stops_group = event == PTRACE_EVENT_STOP && sig != SIGTRAP;
    struct execing *x = find_execing(r, tid);
    if (event)
        sig = 0;
    if (!x)
        ptrace(PTRACE_DETACH, tid, 0, sig);
    else if (x->detaching)
        let_go(r, x, sig);
    else
        ptrace(stops_group ? PTRACE_LISTEN : PTRACE_CONT, tid, 0, sig);
}

static void task_ended(struct run *r, pid_t pid, int status, const struct rusage *used)
{
    struct execing *x = find_execing(r, pid);
    struct run_stats *n = &r->result->stats;
    if (x) {
        struct execing gone = *x;
        forget_execing(r, x);
        exec_over(r, gone.process, gone.from);
    }
    if (pid != r->root)
        return;
    r->root_ended = true;
    r->result->status = status;
    n->user_seconds = (double)used->ru_utime.tv_sec + (double)used->ru_utime.tv_usec * 1e-6;
    n->system_seconds = (double)used->ru_stime.tv_sec + (double)used->ru_stime.tv_usec * 1e-6;
}

static void reap(struct run *r)
{
    int status;
    struct rusage used;
    for (pid_t pid; (pid = wait4(-1, &status, __WALL | WNOHANG, &used)) > 0;) {
        if (WIFSTOPPED(status))
            task_stopped(r, pid, status);
        else
            task_ended(r, pid, status, &used);
    }
}

/* -- Requests ----------------------------------------------------------------------------------- */

void follow_post(struct process *p, u32 block)
{
    struct run *r = p->run;
    u64 one = 1;
    pthread_mutex_lock(&r->lock);
    vec_push(&r->posted, ((struct posted){p, block}));
    pthread_mutex_unlock(&r->lock);
    check(write(r->bell, &one, sizeof one) == sizeof one);
}

static bool next_posted(struct run *r, struct posted *x)
{
    pthread_mutex_lock(&r->lock);
    bool any = r->posted.n > 0;
    if (any)
        *x = r->posted.v[--r->posted.n];
    pthread_mutex_unlock(&r->lock);
    return any;
}

/* What the guest wrote is copied before it is looked at: it could change under our eyes. */
static void handle(const struct posted *x)
{
    struct process *p = x->process;
    struct thread *t = process_thread(p, x->block);
    u32 kind = load_relaxed(&t->req_kind);
    u64 arg = load_relaxed(&t->req_arg), end = load_relaxed(&t->req_end);
    if (kind == REQ_adopt)
        process_answer(t, adopt(p, x->block, (pid_t)arg, (int)end));
    else if (kind == REQ_exec)
        begin_exec(x, (pid_t)arg, (u32)end);
    else
        exec_failed(p, x->block);
}

static void handle_posted(struct run *r)
{
    struct posted x;
    while (next_posted(r, &x))
        handle(&x);
}

/* Others may be stopped for another reason, and are waited for elsewhere. */
void follow_look(struct run *r)
{
    int status;
    struct rusage used;
    for (size_t i = r->execing.n; i-- > 0;) {
        pid_t tid = r->execing.v[i].tid;
        if (r->execing.v[i].untraced || wait4(tid, &status, __WALL | WNOHANG, &used) != tid)
            continue;
        if (WIFSTOPPED(status))
            task_stopped(r, tid, status);
        else
            task_ended(r, tid, status, &used);
        i = MIN(i, r->execing.n);
    }
    handle_posted(r);
}

/* -- The loop ----------------------------------------------------------------------------------- */

static void watch(struct run *r, int fd, s64 what)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.u64 = (u64)what};
    check(epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ev) == 0);
}

void follow_watch(struct process *p)
{
    watch(p->run, p->pid_fd, p->number);
}

/* Each process takes two descriptors, and much address space. What the program may use stays as it is: its limits are its own again before it begins. */
static int lift_limits(struct run *r, struct err *e)
{
    enum { SPACE = 16 }; /* GB, for two processes */
    for (u32 i = 0; i < ARRAY_LEN(lifted_limits); i++) {
        struct rlimit now, *old = &r->old_limits[i];
        const bool files = lifted_limits[i] == RLIMIT_NOFILE;
        if (getrlimit(lifted_limits[i], old) < 0 || old->rlim_cur == RLIM_INFINITY)
            continue;
        struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY}, own = {old->rlim_max, old->rlim_max};
        if (files || setrlimit(lifted_limits[i], &most) < 0)
            setrlimit(lifted_limits[i], &own);
        if (!files && getrlimit(lifted_limits[i], &now) == 0 && now.rlim_cur / (1ul << 30) < SPACE)
            return err_set(e, "gait needs %d GB of address space, of which little will be used, and may have %lu MB; raise the limit (ulimit -Hv, -Hd)", SPACE,
                           (unsigned long)(now.rlim_cur >> 20));
    }
    return 0;
}

void follow_restore_limits(const struct run *r)
{
    for (u32 i = 0; i < ARRAY_LEN(lifted_limits); i++)
        setrlimit(lifted_limits[i], &r->old_limits[i]);
}

int follow_begin(struct run *r, struct err *e)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &r->old_mask);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &r->old_child);
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    r->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    r->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r->epoll < 0 || r->signals < 0 || r->bell < 0)
        return err_set(e, "cannot watch the program: %s", strerror(errno));
    watch(r, r->signals, EVENT_SIGNAL);
    watch(r, r->bell, EVENT_BELL);
    return lift_limits(r, e);
}

static void empty(int fd)
{
    u8 bytes[512];
    while (read(fd, bytes, sizeof bytes) > 0)
        ;
}

static void take_event(struct run *r, s64 what)
{
    if (what >= 0) {
        struct process *p = find_process(r, (u32)what);
        if (p)
            process_died(p);
        return;
    }
    if (what != EVENT_BELL)
        return; /* children were looked after already */
    empty(r->bell);
    handle_posted(r);
}

/* Must we look by ourselves from time to time? */
static bool must_look(const struct run *r)
{
    for (size_t i = 0; i < r->execing.n; i++)
        if (r->execing.v[i].untraced)
            return true;
    for (size_t i = 0; i < r->processes.n; i++)
        if (r->processes.v[i]->lingers_until)
            return true;
    return false;
}

/* -- Letting go --------------------------------------------------------------------------------- */

static volatile sig_atomic_t told_to_leave;

static void on_told(int sig)
{
    (void)sig;
    told_to_leave = 1;
}

/* Is it time to leave a process that we are attached to? */
static bool is_over(const struct run *r)
{
    return r->options->attach && (told_to_leave || r->window == WINDOW_over);
}

static void let_processes_go(struct run *r)
{
    r->detached = true;
    while (r->processes.n) {
        struct process *p = r->processes.v[0];
        epoll_ctl(r->epoll, EPOLL_CTL_DEL, p->pid_fd, NULL);
        if (attach_end(p))
            tracks_end(r, tracks_sharer(p, p->seen), TRACE_ENDED_detached, 0);
        else
            note_end(p);
        process_end(p);
    }
}

/* Leave the process alone for a while, and attach to it again; false with an empty sentence if it has ended, or we are told to end. */
static bool come_back(struct run *r, struct err *e)
{
    struct pollfd ended = {.fd = r->attached_fd, .events = POLLIN};
    double until = monotonic() + r->options->leave, left;
    e->text[0] = 0;
    while (!told_to_leave && (left = until - monotonic()) > 0)
        if (poll(&ended, 1, (int)MIN(ceil(left * 1e3), 1e6)) > 0)
            break;
    if (told_to_leave || !r->options->leave)
        return false;
    if (poll(&ended, 1, 0) > 0) {
        r->attached_ended = end_of(r->attached_fd, &r->result->status);
        r->detached = false; /* it has ended, if nobody knows how */
        return false;
    }
    return attach_begin(r, e) == 0;
}

/* Until what tells us nothing is to be looked at again; negative: no limit. */
static struct timespec how_long(const struct run *r)
{
    bool waits = r->window != WINDOW_over && window_moves(r->options);
    double left = r->opened + r->options->seconds - monotonic();
    u64 budget = budget_wait(r), limit = UINT64_MAX;
    if (must_look(r) || r->options->attach || waits || select_rests(r))
        limit = LOOK_MS * 1000000ull;
    if (r->window == WINDOW_open && r->options->seconds > 0)
        limit = MIN(limit, (u64)(MAX(left, 0) * 1e9));
    limit = budget ? MIN(limit, budget) : limit;
    if (limit == UINT64_MAX)
        return (struct timespec){.tv_sec = -1};
    return (struct timespec){(time_t)(limit / 1000000000), (long)(limit % 1000000000)};
}

/* Keyboard signals go to the program as well as to us, and it decides; unless it was there before us: then they tell us to leave. */
int follow_run(struct run *r, struct err *e)
{
    int status = 0;
    struct sigaction act = {.sa_handler = r->options->attach ? on_told : SIG_IGN}, old_int,
                     old_quit, old_term;
    sigaction(SIGINT, &act, &old_int);
    sigaction(SIGQUIT, &act, &old_quit);
    sigaction(SIGTERM, r->options->attach ? &act : NULL, &old_term);
    while (!r->root_ended || r->processes.n) {
        struct epoll_event ev[16];
        struct timespec limit = how_long(r);
        int n = epoll_pwait2(r->epoll, ev, ARRAY_LEN(ev), limit.tv_sec < 0 ? NULL : &limit, NULL);
        budget_look(r);
        window_look(r);
        if (select_rests(r))
            gates_remind(r);
        if (is_over(r)) {
            let_processes_go(r);
            if (come_back(r, e))
                continue;
            status = e->text[0] ? -1 : 0;
            break;
        }
        empty(r->signals); /* first: whoever stops from here on rings again */
        reap(r);
        look_at_untraced(r); /* before their ends are seen */
        for (int i = 0; i < n; i++)
            take_event(r, (s64)ev[i].data.u64);
        look_at_lingering(r);
    }
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGQUIT, &old_quit, NULL);
    sigaction(SIGTERM, &old_term, NULL);
    return status;
}

void follow_end(struct run *r)
{
    const int fds[] = {r->epoll, r->signals, r->bell, r->attached_fd};
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        if (fds[i] > 0)
            close(fds[i]);
    vec_fini(&r->processes);
    vec_fini(&r->execing);
    vec_fini(&r->waiting);
    vec_fini(&r->posted);
    vec_fini(&r->waits);
    for (size_t i = 0; i < r->spares.n; i++) {
        if (r->spares.v[i].translator)
            translator_free(r->spares.v[i].translator);
        heat_free(r->spares.v[i].heat);
        free(r->spares.v[i].pages);
    }
    vec_fini(&r->spares);
    sigaction(SIGCHLD, &r->old_child, NULL);
    sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
}
