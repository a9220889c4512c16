/* SPDX-License-Identifier: MIT */
/* gait's side: make the two processes, hand over the events, hear how it ended. */
#include "tool/runner.h"
#include "tool/names.h"
#include "tool/state.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 100 };

/* -- The keeper --------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A child that dies with its parent, and leaves the keyboard's signals to the program. */
static pid_t fork_bound(void)
{
    pid_t parent = getpid(), pid = fork();
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    return 0;
}

/* Something that changes while the tool comes back from its batches, or waits for some. */
static u64 progress(const struct ring *r)
{
    u64 sum = load_relaxed(&r->control->state);
    for (u32 i = 0; i < r->control->n_readers && i < RING_READERS; i++)
        sum += load_relaxed(&r->control->passed[i]);
    return sum;
}

static bool has_work(const struct ring *r)
{
    u64 put = load_relaxed(&r->head->put);
    bool all = load_relaxed(&r->control->state) == RING_ready;
    for (u32 i = 0; i < r->control->n_readers && i < RING_READERS; i++)
        all &= load_relaxed(&r->control->passed[i]) == put;
    return !all || load_relaxed(&r->head->closed);
}

static bool ended(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, LOOK_MS) == 1;
}

static _Noreturn void keep(struct runner *r, pid_t tool)
{
    struct ring_control *c = r->ring.control;
    int fd = (int)syscall(SYS_pidfd_open, tool, 0), status = 0;
    double since = now();
    u64 seen = 0;
    bool stopped = false;
    while (!ended(fd)) {
        u64 at = progress(&r->ring);
        if (at != seen || !has_work(&r->ring))
            since = now();
        seen = at;
        if (r->options->patience && now() - since > r->options->patience && !stopped) {
            kill(tool, SIGKILL);
            stopped = true;
        }
    }
    waitpid(tool, &status, 0);
    u32 state = load_acquire(&c->state);
    c->status = status;
    if (state == RING_begins || state == RING_ready)
        ring_say(&r->ring, stopped ? RING_stopped : RING_died);
    _exit(0);
}

/* -- Beginning and end -------------------------------------------------------------------------- */

static int start_processes(struct runner *r, struct err *e)
{
    pid_t keeper = fork_bound();
    if (keeper < 0)
        return err_set(e, "no process can be made for the tool: %s", strerror(errno));
    if (!keeper) {
        pid_t tool = fork_bound();
        if (!tool)
            state_main(r);
        if (tool < 0)
            _exit(1);
        keep(r, tool);
    }
    r->ring.peer = (int)syscall(SYS_pidfd_open, keeper, 0);
    return 0;
}

/* The keeper says how it ended; that it has ended without a word can only be somebody's doing. */
static enum ring_state wait_while(struct runner *r, enum ring_state s)
{
    struct pollfd p = {.fd = r->ring.peer, .events = POLLIN};
    enum ring_state now_is;
    while ((now_is = ring_wait(&r->ring, s, LOOK_MS)) == s)
        if (poll(&p, 1, 0) == 1 && load_acquire(&r->ring.control->state) == s)
            return RING_died;
    return now_is;
}

static int say_end(const struct runner *r, enum ring_state s, struct err *e)
{
    const struct ring_control *c = r->ring.control;
    const char *tool = r->options->path;
    unsigned long seen = (unsigned long)load_relaxed(&r->ring.head->put);
    char why[RING_TEXT];
    if (s == RING_done)
        return 0;
    if (s == RING_refused) {
        memcpy(why, c->why, sizeof why);
        why[sizeof why - 1] = 0;
        return err_set(e, "%s", why);
    }
    if (s == RING_stopped)
        return err_set(e,
                       "the tool %s did not come back for %u seconds and was stopped, after %lu batches; "
                       "--patience gives it more time",
                       tool, r->options->patience, seen);
    if (WIFEXITED(c->status))
        return err_set(e, "the tool %s ended itself with status %d before it had finished, after %lu batches", tool,
                       WEXITSTATUS(c->status), seen);
    return err_set(e, "the tool %s was ended by signal %d (%s), after %lu batches; it may have up to %lu MB of memory, see --memory",
                   tool, WTERMSIG(c->status), strsignal(WTERMSIG(c->status)), seen,
                   (unsigned long)(r->options->memory >> 20));
}

int runner_start(struct runner *r, const struct runner_options *o, struct err *e)
{
    *r = (struct runner){.options = o, .modules = names_file()};
    if (r->modules < 0)
        return err_set(e, "no file can be made for the tool: %s", strerror(errno));
    if (ring_init(&r->ring, e))
        return -1;
    fflush(NULL); /* or all would print what is in the buffers */
    if (start_processes(r, e))
        return -1;
    enum ring_state s = wait_while(r, RING_begins);
    return s == RING_ready ? 0 : say_end(r, s, e);
}

int runner_end(struct runner *r, const struct trace_module *m, size_t n, struct err *e)
{
    fflush(NULL);
    names_write(r->modules, m, n);
    ring_close(&r->ring);
    int status = say_end(r, wait_while(r, RING_ready), e);
    close(r->modules);
    close(r->ring.peer);
    ring_fini(&r->ring);
    return status;
}

/* -- Handing over ------------------------------------------------------------------------------- */

struct fed_memory {
    struct runner *runner;
    u32 number;
    const struct unit_table *table;
    struct mirror mirror;
    bool left_out;
};

struct fed_work {
    u32 thread;
    struct view view;
};

static void *fed_memory(void *runner, u32 number, const struct unit_table *t)
{
    struct runner *r = runner;
    struct fed_memory *m = calloc(1, sizeof *m);
    check(m != NULL);
    *m = (struct fed_memory){.runner = r, .number = number, .table = t};
    void *room = ring_room(&r->ring);
    m->left_out = !room;
    if (room)
        mirror_init(&m->mirror, room);
    return m;
}

static void fed_end(void *memory)
{
    struct fed_memory *m = memory;
    m->runner->left_out += m->left_out;
    free(m);
}

static void *fed_work(void *memory)
{
    struct fed_work *w = calloc(1, sizeof *w);
    (void)memory;
    check(w != NULL);
    return w;
}

static void fed_open(void *work, u32 thread)
{
    struct fed_work *w = work;
    w->thread = thread;
    view_clear(&w->view);
}

static void fed_add(void *work, const struct events *e)
{
    struct fed_work *w = work;
    view_add(&w->view, e);
}

static void fed_take(void *memory, void *work, u32 part)
{
    struct fed_memory *m = memory;
    struct fed_work *w = work;
    (void)part;
    if (!m->left_out)
        m->left_out = !mirror_update(&m->mirror, m->table);
    if (!m->left_out)
        ring_put(&m->runner->ring, m->number, w->thread, &w->view, &m->mirror);
}

static void fed_merge(void *memory, void *work)
{
    struct fed_work *w = work;
    (void)memory;
    view_fini(&w->view);
    free(w);
}

const struct analysis runner_analysis = {
    .name = "tool",
    .wants_memory = true,
    .memory = fed_memory,
    .end = fed_end,
    .work = fed_work,
    .open = fed_open,
    .add = fed_add,
    .take = fed_take,
    .merge = fed_merge,
};
