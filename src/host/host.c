/* SPDX-License-Identifier: MIT */
/* One run from start to end: start the command, follow what comes of it, seal the trace. */
#include "host/host.h"
#include "host/process.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

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

/* -- The trace ---------------------------------------------------------------------------------- */

static int open_trace(struct run *r, struct err *e)
{
    if (r->options->sink != SINK_file || r->options->events == EVENTS_none)
        return 0;
    int argc = 0;
    while (r->options->argv && r->options->argv[argc])
        argc++;
    if (trace_writer_open(&r->writer, r->options->output, argc, r->options->argv, e) < 0)
        return -1;
    r->writer_open = true;
    return 0;
}

static int close_trace(struct run *r, struct err *e)
{
    int status = r->result->status;
    struct trace_summary summary = {0};
    if (!r->writer_open)
        return 0;
    summary.ending = WIFSIGNALED(status) ? TRACE_ENDED_signal : TRACE_ENDED_exited;
    summary.status = (u32)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    if (r->options->attach && !r->attached_ended)
        summary.ending = r->detached ? TRACE_ENDED_detached : TRACE_ENDED_unknown;
    summary.lost_buffers = r->result->stats.lost_buffers;
    summary.lost_bytes = r->result->stats.lost_bytes;
    summary.untraced = (u32)r->result->stats.untraced;
    summary.digest = r->result->digest;
    if (r->write_failed) {
        struct err ignored;
        trace_writer_close(&r->writer, NULL, &ignored);
        *e = r->write_error;
        return -1;
    }
    return trace_writer_close(&r->writer, &summary, e);
}

static void drop_trace(struct run *r)
{
    struct err ignored;
    trace_writer_close(&r->writer, NULL, &ignored);
    unlink(r->options->output);
}

/* -- The run ------------------------------------------------------------------------------------ */

static void kill_program(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
}

/* Start the command and let it run, traced. */
static int begin(struct run *r, struct err *e)
{
    struct process *p = process_new(r, 0);
    if (start_program(p, e) < 0) {
        process_free(p);
        return -1;
    }
    r->root = p->pid;
    if (inject(p, e) == 0) {
        struct trace_process x = {.how = TRACE_BY_command};
        p->number = tracks_image(r, &x, p->pid);
        process_begin(p);
        if (inject_release(p, e) == 0) {
            process_serve(p);
            r->result->ran = true;
            return 0;
        }
    }
    kill_program(p->pid);
    process_free(p);
    return -1;
}

static int run(struct run *r, struct err *e)
{
    r->began = monotonic();
    window_begin(r);
    budget_begin(r);
    r->began_tsc = __rdtsc();
    if ((r->options->attach ? attach_begin : begin)(r, e) < 0)
        return -1;
    int status = follow_run(r, e);
    r->result->stats.seconds = monotonic() - r->began;
    if (close_trace(r, e) < 0)
        return -1;
    if (r->result->undecodable)
        return err_set(e, "the program's records cannot be decoded: %s",
                       r->result->decode_error.text);
    return status;
}

/* Chunks come and go, each with megabytes that the next one needs again: giving them back to the kernel in between
 * would be a tenth of the time that packing takes. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

/* Under stress, threads change versions all the time. */
static void set_flips(struct run_options *o)
{
    if (o->events != EVENTS_none && !(o->budget.seconds > 0))
        o->budget = (struct budget){.seconds = 3e-4, .period = 1e-3};
}

int host_run(const struct run_options *options, struct run_result *result, struct err *e)
{
    struct run_options o = *options;
    struct run r = {.options = &o, .result = result};
    *result = (struct run_result){0};
    keep_memory();
    check(pthread_mutex_init(&r.lock, NULL) == 0 && pthread_mutex_init(&r.writer_lock, NULL) == 0);
    if (read_stress(&r.stress, e) < 0 || open_trace(&r, e) < 0)
        return -1;
    if (r.stress.flip)
        set_flips(&o);
    int status = follow_begin(&r, e);
    if (status == 0)
        status = run(&r, e);
    follow_end(&r);
    if (r.writer_open && !result->ran)
        drop_trace(&r);
    pthread_mutex_destroy(&r.lock);
    pthread_mutex_destroy(&r.writer_lock);
    return status;
}
