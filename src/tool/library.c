/* SPDX-License-Identifier: MIT */
/* gait.h: results, and events for a program that asks for them itself. A trace is walked where it is asked for; a program is run by a
 * child of ours, which is to it what gait is. */
#include "tool/library.h"
#include "decode/walk.h"
#include "tool/live.h"
#include "tool/runner.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* -- Results ------------------------------------------------------------------------------------ */

#define SAME(a, b) _Static_assert((int)(a) == (int)(b), "gait.h and result.h differ")
SAME(GAIT_FACTS, TABLE_facts);
SAME(GAIT_ROWS, TABLE_rows);
SAME(GAIT_SERIES, TABLE_series);
SAME(GAIT_TEXT, CELL_text);
SAME(GAIT_COUNT, CELL_count);
SAME(GAIT_ADDRESS, CELL_address);
SAME(GAIT_NUMBER, CELL_number);
SAME(GAIT_PERCENT, CELL_percent);
SAME(GAIT_LOAD, REF_LOAD);
SAME(GAIT_STORE, REF_STORE);
SAME(GAIT_MODIFY, REF_MODIFY);

/* A table of gait.h is one of result.h. */
static struct table *inside(struct gait_table *t)
{
    return (struct table *)t;
}

struct gait_table *gait_table(struct gait_result *r, enum gait_table_kind kind, const char *name,
                              const char *title)
{
    check(kind <= GAIT_SERIES);
    return (struct gait_table *)result_table(&r->result, (enum table_kind)kind, name, title);
}

void gait_column(struct gait_table *t, enum gait_cell type, const char *name)
{
    check(type <= GAIT_PERCENT);
    table_add_column(inside(t), (enum cell_type)type, name, NULL);
}

void gait_row(struct gait_table *t, ...)
{
    va_list args;
    va_start(args, t);
    table_row_args(inside(t), args);
    va_end(args);
}

struct gait_place gait_where(struct gait_result *r, uint32_t process, uint64_t pc)
{
    return names_find(&r->names, process, pc);
}

/* -- Events: common ------------------------------------------------------------------------------ */

struct gait {
    struct names names;
    struct err trouble;
    bool ended; /* and how: */
    int how;    /* 0, or -1 with the trouble */
    /* Of a trace: */
    struct trace *trace;
    struct walk walk;
    struct view view;
    struct mirror *mirrors; /* by memory */
    /* Of a program: */
    struct ring ring;
    u64 got; /* batches asked for */
    pid_t host;
    int modules;
};

static struct gait *make(void)
{
    struct gait *g = calloc(1, sizeof *g);
    check(g != NULL);
    g->modules = g->ring.peer = -1;
    return g;
}

static struct gait *fail(struct gait *g, char *why, size_t room, const struct err *e)
{
    snprintf(why, room, "%s", e->text);
    if (g->ring.control)
        ring_fini(&g->ring);
    if (g->ring.peer >= 0)
        close(g->ring.peer);
    if (g->modules >= 0)
        close(g->modules);
    free(g->trace);
    free(g);
    return NULL;
}

const char *gait_trouble(const struct gait *g)
{
    return g->trouble.text;
}

/* -- A trace ------------------------------------------------------------------------------------- */

struct gait *gait_open(const char *path, char *why, size_t room)
{
    struct gait *g = make();
    struct err e;
    g->trace = calloc(1, sizeof *g->trace);
    check(g->trace != NULL);
    if (trace_open(g->trace, path, &e))
        return fail(g, why, room, &e);
    walk_init(&g->walk, g->trace);
    g->mirrors = calloc(MAX(g->trace->units.n, 1ul), sizeof *g->mirrors);
    check(g->mirrors != NULL);
    names_use(&g->names, g->trace->modules.v, g->trace->modules.n);
    return g;
}

static struct mirror *mirror_of(struct gait *g, u32 memory, const struct unit_table *t)
{
    struct mirror *m = &g->mirrors[memory];
    if (!m->insns) {
        void *room = mmap(NULL, MIRROR_SIZE, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED)
            return NULL;
        mirror_init(m, room);
    }
    return mirror_update(m, t) ? m : NULL;
}

static int next_of_trace(struct gait *g, struct gait_batch *b)
{
    struct walk *w = &g->walk;
    int more = walk_next(w, &g->trouble);
    if (more < 0)
        return -1;
    if (!more && !g->trace->complete) {
        g->trouble = g->trace->trouble;
        return -1;
    }
    if (!more)
        return 0;
    u32 memory = g->trace->pieces.v[w->window.piece].memory;
    const struct mirror *m = mirror_of(g, memory, w->table);
    if (!m)
        return err_set(&g->trouble, "%s: there is no room for the code of process %u",
                       g->trace->store.path, memory);
    view_clear(&g->view);
    view_add(&g->view, &w->events);
    *b = (struct gait_batch){.process = memory,
                             .thread = walk_thread(w),
                             .n_runs = (u32)g->view.runs.n,
                             .n_accesses = (u32)g->view.accesses.n,
                             .n_marks = (u32)g->view.marks.n,
                             .n_insns = m->n_insns,
                             .runs = g->view.runs.v,
                             .accesses = g->view.accesses.v,
                             .marks = g->view.marks.v,
                             .insns = m->insns,
                             .code = m->code};
    return 1;
}

static void close_trace(struct gait *g)
{
    for (size_t i = 0; i < g->trace->units.n; i++)
        if (g->mirrors[i].insns)
            munmap(g->mirrors[i].insns, MIRROR_SIZE);
    free(g->mirrors);
    walk_fini(&g->walk);
    view_fini(&g->view);
    trace_close(g->trace);
    free(g->trace);
}

/* -- A program ----------------------------------------------------------------------------------- */

static void program_begun(void *ring)
{
    struct ring *r = ring;
    if (load_acquire(&r->control->state) == RING_begins)
        ring_say(r, RING_ready);
}

/* Nobody's handlers are to run in the child: they belong to the process that asks. */
static void forget_handlers(void)
{
    struct sigaction old;
    for (int sig = 1; sig < NSIG; sig++)
        if (sigaction(sig, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            signal(sig, SIG_DFL);
}

/* In the child: run it, and hand its events over to whoever reads. */
static _Noreturn void host_main(struct gait *g, char *const *argv)
{
    struct runner runner = {.ring = g->ring};
    struct ring_control *c = runner.ring.control;
    const struct analysis *const chosen[] = {&runner_analysis};
    void *const studies[] = {&runner};
    struct run_options o = {.argv = (char **)argv, .events = EVENTS_memory, .follow = true};
    struct run_result result = {0};
    struct err e;
    u32 workers = (u32)MAX(1, MIN(sysconf(_SC_NPROCESSORS_ONLN), 8));
    struct pipeline *p = pipeline_new(chosen, studies, 1, workers, &e);
    check(p != NULL);
    struct live live = {.pipeline = p, .begun = program_begun, .ctx = &runner.ring};
    forget_handlers();
    int failed = live_run(&live, &o, workers, &result, &e);
    if (result.ran)
        c->status = result.status;
    if (!failed && runner.left_out)
        failed = err_set(&e, "there was no room for the code of %u processes", runner.left_out);
    names_write(g->modules, live.modules.v, live.modules.n);
    if (failed) {
        snprintf(c->why, RING_TEXT, "%s", e.text);
        ring_say(&runner.ring, RING_refused);
        _exit(1);
    }
    ring_close(&runner.ring);
    _exit(0);
}

/* A descriptor that tells when a process has ended. */
static int watch_process(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Make the child: each side then watches the other. */
static int start_host(struct gait *g, char *const *argv, struct err *e)
{
    int self = watch_process(getpid());
    fflush(NULL); /* or both would print what is in the buffers */
    g->host = self >= 0 && g->modules >= 0 ? fork() : -1;
    if (!g->host) {
        g->ring.peer = self;
        host_main(g, argv);
    }
    if (self >= 0)
        close(self);
    if (g->host > 0)
        g->ring.peer = watch_process(g->host);
    return g->host < 0 ? err_set(e, "no process can be made for %s: %s", argv[0], strerror(errno))
                       : 0;
}

static void wait_for_host(const struct gait *g)
{
    while (waitpid(g->host, NULL, 0) < 0 && errno == EINTR)
        ;
}

struct gait *gait_start(char *const *argv, char *why, size_t room)
{
    struct gait *g = make();
    struct err e;
    g->modules = names_file();
    if (ring_init(&g->ring, &e))
        return fail(g, why, room, &e);
    g->ring.control->n_readers = 1;
    g->ring.control->status = -1;
    ring_begin(&g->ring);
    if (start_host(g, argv, &e))
        return fail(g, why, room, &e);
    while (ring_wait(&g->ring, RING_begins, 100) == RING_begins)
        if (g->ring.peer < 0 || ring_is_alone(&g->ring))
            break;
    if (load_acquire(&g->ring.control->state) == RING_ready) {
        ring_protect(&g->ring);
        return g;
    }
    err_set(&e, "%s",
            g->ring.control->why[0] ? g->ring.control->why
                                    : "what was to watch the program has died");
    wait_for_host(g);
    return fail(g, why, room, &e);
}

static int next_of_program(struct gait *g, struct gait_batch *b)
{
    const struct ring_control *c = g->ring.control;
    if (g->got)
        ring_pass(&g->ring, 0, g->got);
    if (ring_get(&g->ring, g->got, b)) {
        g->got++;
        return 1;
    }
    if (!g->names.open)
        names_open(&g->names, g->modules);
    if (load_acquire(&g->ring.head->closed))
        return 0;
    return err_set(&g->trouble, "%s",
                   load_acquire(&c->state) == RING_refused
                       ? c->why
                       : "the events end before the program does: what watched it has died");
}

static int close_program(struct gait *g)
{
    ring_say(&g->ring, RING_done);
    wait_for_host(g);
    int status = g->ring.control->status;
    close(g->ring.peer);
    close(g->modules);
    ring_fini(&g->ring);
    return status;
}

/* -- Either -------------------------------------------------------------------------------------- */

int gait_next(struct gait *g, struct gait_batch *b)
{
    if (g->ended)
        return g->how;
    int more = g->trace ? next_of_trace(g, b) : next_of_program(g, b);
    g->ended = more <= 0;
    g->how = more;
    return more;
}

struct gait_place gait_find(struct gait *g, uint32_t process, uint64_t pc)
{
    if (!g->names.open)
        return (struct gait_place){.offset = pc};
    return names_find(&g->names, process, pc);
}

int gait_close(struct gait *g)
{
    int status = 0;
    names_close(&g->names); /* before what it points to */
    if (g->trace)
        close_trace(g);
    else
        status = close_program(g);
    free(g);
    return status;
}
