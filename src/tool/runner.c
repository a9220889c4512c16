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
#include <unistd.h>

enum { LOOK_MS = 100 };

/* -- The keeper --------------------------------------------------------------------------------- */

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
    signal(SIGCHLD, SIG_DFL); /* whoever ignores it is not told how a child ended */
    return 0;
}

/* Something that changes while the tool comes back from its batches, or waits for some. */
static u64 progress(const struct ring *r)
{
    u64 sum = load_relaxed(&r->control->state);
    for (u32 i = 0; i < RING_READERS; i++)
        sum += load_relaxed(&r->control->passed[i]);
    return sum;
}

/* Is it the tool that is waited for? It may wait for batches itself, or for whoever reads its tables. */
static bool has_work(const struct ring *r)
{
    const u32 state = load_relaxed(&r->control->state);
    const u64 put = load_relaxed(&r->head->put);
    bool through = true;
    for (u32 i = 0; i < load_relaxed(&r->control->n_readers) && i < RING_READERS; i++)
        through &= load_relaxed(&r->control->passed[i]) == put;
    return state != RING_prints &&
           (state != RING_ready || !through || load_relaxed(&r->head->closed));
}

static bool ended(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, LOOK_MS) == 1;
}

/* Wait until it has ended; true if that was our doing. Its time is counted by looking at it, not by a clock: while all of us are stopped,
 * as by a terminal's key, it has none. */
static bool watch(const struct runner *r, pid_t tool)
{
    const u64 limit = r->options->patience * 1000ull;
    int fd = (int)syscall(SYS_pidfd_open, tool, 0);
    u64 seen = 0, idle = 0;
    bool stopped = false;
    while (fd >= 0 && !ended(fd)) {
        u64 at = progress(&r->ring);
        idle = at != seen || !has_work(&r->ring) ? 0 : idle + LOOK_MS;
        seen = at;
        if (limit && idle > limit && !stopped)
            stopped = !kill(tool, SIGKILL);
    }
    return stopped;
}

static _Noreturn void keep(struct runner *r, pid_t tool)
{
    struct ring_control *c = r->ring.control;
    int status = 0;
    bool stopped = watch(r, tool);
    while (waitpid(tool, &status, 0) < 0 && errno == EINTR)
        ;
    u32 state = load_acquire(&c->state);
    c->status = status;
    if (state == RING_begins || state == RING_ready || state == RING_prints)
        ring_say(&r->ring, stopped ? RING_stopped : RING_died);
    _exit(0);
}

/* -- Beginning and end -------------------------------------------------------------------------- */

static int start_processes(struct runner *r, struct err *e)
{
    pid_t keeper = fork_bound();
    if (!keeper) {
        pid_t tool = fork_bound();
        if (!tool)
            state_main(r);
        if (tool < 0)
            _exit(1);
        keep(r, tool);
    }
    if (keeper > 0)
        r->ring.peer = (int)syscall(SYS_pidfd_open, keeper, 0);
    if (keeper < 0 || r->ring.peer < 0)
        return err_set(e, "no process can be made for the tool %s: %s", r->options->path,
                       strerror(errno));
    return 0;
}

/* The keeper says how it ended; that it has ended without a word can only be somebody's doing. */
static enum ring_state wait_while(struct runner *r, enum ring_state s)
{
    enum ring_state now_is;
    while ((now_is = ring_wait(&r->ring, s, LOOK_MS)) == s)
        if (ring_is_alone(&r->ring) && load_acquire(&r->ring.control->state) == s)
            return RING_lost;
    return now_is;
}

/* How far it had come, as the end of a sentence's part. */
static const char *when(const struct runner *r, bool began, char room[64])
{
    u64 passed = ring_passed(&r->ring);
    if (!began)
        return "while it began";
    if (load_relaxed(&r->ring.head->closed) && passed == load_relaxed(&r->ring.head->put))
        return "while it finished";
    snprintf(room, 64, "after %lu batches", (unsigned long)passed);
    return room;
}

static int say_death(const struct runner *r, const char *at, struct err *e)
{
    const char *tool = r->options->path;
    const s32 status = r->ring.control->status;
    char memory[96] = "";
    if (WIFEXITED(status))
        return err_set(e,
                       "the tool %s ended itself with status %d %s; it should return from its "
                       "functions, see gait.h(3)",
                       tool, WEXITSTATUS(status), at);
    if (r->options->memory)
        snprintf(memory, sizeof memory, "it may have %lu MB of memory (--memory), and ",
                 (unsigned long)(r->options->memory >> 20));
    return err_set(
        e, "the tool %s was ended by signal %d (%s) %s; %sgait-tool(1) says how to debug it", tool,
        WTERMSIG(status), strsignal(WTERMSIG(status)), at, memory);
}

static int say_end(const struct runner *r, enum ring_state s, bool began, struct err *e)
{
    const char *tool = r->options->path;
    char why[RING_TEXT], room[64];
    const char *at = when(r, began, room);
    switch (s) {
    case RING_done:
        return 0;
    case RING_refused:
        memcpy(why, r->ring.control->why, sizeof why);
        why[sizeof why - 1] = 0;
        return err_set(e, "%s", why);
    case RING_stopped:
        return err_set(e,
                       "the tool %s did not come back for %u seconds %s, and was stopped; "
                       "--patience gives it more time",
                       tool, r->options->patience, at);
    case RING_died:
        return say_death(r, at, e);
    default:
        return err_set(e,
                       "the tool %s was ended %s, since the process that watches it was killed; a "
                       "tool must not send signals to other processes",
                       tool, at);
    }
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
    if (s != RING_ready)
        return say_end(r, s, false, e);
    ring_begin(&r->ring);
    return 0;
}

int runner_end(struct runner *r, const struct trace_module *m, size_t n, struct err *e)
{
    fflush(NULL);
    names_write(r->modules, m, n);
    ring_close(&r->ring);
    enum ring_state s = wait_while(r, RING_ready);
    bool printed = s == RING_prints;
    if (printed)
        s = wait_while(r, RING_prints);
    if (printed && s == RING_died && WTERMSIG(r->ring.control->status) == SIGPIPE)
        raise(SIGPIPE); /* nobody wants to read on: end as quietly as all commands do */
    int status = say_end(r, s, true, e);
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
