/* SPDX-License-Identifier: MIT */
/* One run from start to end: start, inject, serve and drain while it runs, drain the rest, seal the
 * trace. */
#include "host/host.h"
#include "host/session.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int read_stress(struct stress *st, struct err *e)
{
    const char *p = getenv("GAIT_STRESS");
    while (p && *p) {
        size_t n = strcspn(p, ",");
        bool known = n == 0;
#define STRESS(name, what)                              \
    if (n == sizeof #name - 1 && !strncmp(p, #name, n)) \
        known = st->name = true;
#include "host/stress.def"
#undef STRESS
        if (!known)
            return err_set(e, "GAIT_STRESS names %.*s, which is not a stress knob; see gait(1)",
                           (int)n, p);
        p += n + (p[n] == ',');
    }
    return 0;
}

/* The kernel marks this word when we die, however we die; the guest looks at it whenever it would
 * wait for us. */
static pthread_mutex_t *life(struct session *s)
{
    return (pthread_mutex_t *)(void *)&s->control->host_life;
}

static void begin_life(struct session *s)
{
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(life(s), &a);
    pthread_mutexattr_destroy(&a);
    check(pthread_mutex_lock(life(s)) == 0);
}

static void end_life(struct session *s)
{
    pthread_mutex_unlock(life(s));
    pthread_mutex_destroy(life(s));
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void start_threads(struct session *s)
{
    check(pthread_create(&s->serve_thread, NULL, serve_main, s) == 0);
    drain_begin(s);
}

static void ring(u32 *bell)
{
    __atomic_fetch_add(bell, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void stop_threads(struct session *s)
{
    __atomic_store_n(&s->stopping, 1, __ATOMIC_SEQ_CST);
    ring(&s->control->bell);
    ring(&s->control->drain_bell);
    pthread_join(s->serve_thread, NULL);
    drain_end(s);
}

/* Wait for the program's end. Keyboard signals go to it as well as to us; it decides. */
static int wait_for_end(struct session *s)
{
    int status = 0;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old_int, old_quit;
    sigaction(SIGINT, &ignore, &old_int);
    sigaction(SIGQUIT, &ignore, &old_quit);
    struct rusage used = {0};
    while (wait4(s->pid, &status, 0, &used) < 0 && errno == EINTR)
        ;
    s->result->stats.user_seconds =
        (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec * 1e-6;
    s->result->stats.system_seconds =
        (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec * 1e-6;
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGQUIT, &old_quit, NULL);
    return status;
}

static int open_trace(struct session *s, struct err *e)
{
    if (s->options->sink != SINK_file || s->options->events == EVENTS_none)
        return 0;
    int argc = 0;
    while (s->options->argv[argc])
        argc++;
    if (trace_writer_open(&s->writer, s->options->output, argc, s->options->argv, e) < 0)
        return -1;
    s->writer_open = true;
    return 0;
}

static int close_trace(struct session *s, struct err *e)
{
    int status = s->result->status;
    struct trace_summary summary = {0};
    if (!s->writer_open)
        return 0;
    summary.ending = WIFSIGNALED(status) ? TRACE_ENDED_signal : TRACE_ENDED_exited;
    summary.status = (u32)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    summary.lost_buffers = s->result->stats.lost_buffers;
    summary.lost_bytes = s->result->stats.lost_bytes;
    summary.untraced = (u32)s->result->stats.untraced;
    if (s->write_failed) {
        struct err ignored;
        trace_writer_close(&s->writer, NULL, &ignored);
        *e = s->write_error;
        return -1;
    }
    return trace_writer_close(&s->writer, &summary, e);
}

static void collect(struct session *s)
{
    struct run_stats *r = &s->result->stats;
    const struct control *c = s->control;
    struct translate_stats x = translator_stats(s->translator);
    for (u32 i = 0; i < MIN(c->blocks, (u32)WIRE_THREADS); i++) {
        const struct thread *t = session_thread(s, i);
        r->requests += t->n_requests;
        r->gates += t->n_gates;
        r->indirect_misses += t->n_indirect_misses;
        r->return_misses += t->n_return_misses;
        r->syscalls += t->n_syscalls;
    }
    r->threads = c->threads;
    r->untraced = c->untraced;
    r->stepped = c->stepped;
    r->lost_buffers = c->lost_buffers;
    r->lost_bytes = c->lost_bytes;
    r->buffer_waits = c->n_waits;
    r->buffers = s->taken;
    r->record_bytes = s->result->counts.bytes = s->record_bytes;
    r->units = x.units;
    r->dropped = x.dropped;
    r->changed = x.changed;
    r->flushes = x.flushes;
    r->insns = x.insns;
    r->app_bytes = x.app_bytes;
    r->cache_bytes = x.cache_bytes;
    r->ahead = x.ahead;
    r->doors = x.doors;
    r->links = x.links;
}

/* The program is injected and stopped: let it run to its end. */
static int run(struct session *s, struct err *e)
{
    double began = now();
    begin_life(s);
    serve_begin(s);
    modules_note(s);
    if (release_program(s, e) < 0) {
        end_life(s);
        return -1;
    }
    start_threads(s);
    s->result->ran = true;
    s->result->status = wait_for_end(s);
    s->result->stats.seconds = now() - began;
    stop_threads(s);
    collect(s);
    end_life(s);
    for (u32 i = 0; i < s->n_drains; i++)
        if (s->drains[i].undecodable)
            return err_set(e, "the program's records cannot be decoded: %s",
                           s->drains[i].decode_error.text);
    return close_trace(s, e);
}

static void kill_program(struct session *s)
{
    kill(s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
}

static void session_fini(struct session *s)
{
    free(s->drains);
    if (s->translator)
        translator_free(s->translator);
    if (s->wire)
        munmap(s->wire, WIRE_SIZE);
    if (s->mem_fd >= 0)
        close(s->mem_fd);
    modules_fini(s);
    free(s->pages);
    free(s);
}

int host_run(const struct run_options *o, struct run_result *r, struct err *e)
{
    struct session *s = calloc(1, sizeof *s);
    check(s != NULL);
    *r = (struct run_result){0};
    s->options = o;
    s->result = r;
    s->mem_fd = -1;
    s->pages = calloc(CODE_PAGES, sizeof *s->pages);
    check(s->pages && pthread_mutex_init(&s->modules_lock, NULL) == 0);
    int status = read_stress(&s->stress, e);
    if (status == 0)
        status = open_trace(s, e);
    if (status == 0)
        status = start_program(s, e);
    if (status == 0) {
        status = inject(s, e);
        if (status == 0)
            status = run(s, e);
        if (!r->ran)
            kill_program(s);
    }
    if (s->writer_open && !r->ran) {
        struct err ignored;
        trace_writer_close(&s->writer, NULL, &ignored);
        unlink(o->output);
    }
    session_fini(s);
    return status;
}
