/* SPDX-License-Identifier: MIT */
/* Events from wherever they are, through a pipeline. */
#include "cmd/session.h"
#include "analyze/replay.h"
#include "report/report.h"
#include "tool/live.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS = 64, TEXT_ROWS = 20 };

static const char *const follow_names[] = {"no", "yes"};

void session_init(struct session *s, const char *command)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *s = (struct session){.command = command,
                          .workers = (u32)MAX(1, MIN(cores, 8)),
                          .follow = true,
                          .results = stdout,
                          .print = report_text};
    choices_init(&s->choices, command);
}

size_t session_top(const struct session *s)
{
    return s->top ? s->top : s->print == report_text ? TEXT_ROWS : SIZE_MAX;
}

bool session_option(struct session *s, int c)
{
    switch (c) {
    case OPT_TOP:
        s->top = option_number(s->command, "top", "a number of rows", optarg);
        return true;
    case OPT_JSON:
        s->print = report_json;
        return true;
    case OPT_CSV:
        s->print = report_csv;
        return true;
    case OPT_STATS:
        s->stats = true;
        return true;
    case OPT_RESULTS:
        s->results = fopen(optarg, "we");
        if (!s->results)
            die("cannot write to %s: %s", optarg, strerror(errno));
        return true;
    case OPT_FOLLOW:
        s->follow = option_word("follow", optarg, follow_names, ARRAY_LEN(follow_names));
        return true;
    case 'o':
        s->output = optarg;
        return true;
    case 'j':
        s->workers = (u32)option_number(s->command, "jobs", "a number of threads", optarg);
        if (!s->workers || s->workers > WORKERS)
            die_usage("%s: --jobs is between 1 and %d", s->command, WORKERS);
        return true;
    }
    return attach_option(&s->attach, s->command, c) || choices_option(&s->choices, c);
}

static void print_stats(const struct session *s)
{
    struct pipe_stats n = pipeline_stats(s->pipeline);
    u64 all = n.ticks * s->workers, busy = n.decode + n.add + n.take + n.wait;
    const struct {
        const char *name;
        u64 ticks;
    } rows[] = {
        {"decoding", n.decode},
        {"adding to works", n.add},
        {"taking works in turn", n.take},
        {"waiting for works to be taken", n.wait},
        {"waiting for records", all - MIN(all, busy)},
    };
    fprintf(stderr, "%u threads, %lu stretches, %lu works; of the threads' time:\n", s->workers,
            (unsigned long)n.stretches, (unsigned long)n.works);
    for (u32 i = 0; i < ARRAY_LEN(rows); i++)
        fprintf(stderr, "%-32s %6.1f %%\n", rows[i].name,
                all ? 100.0 * (double)rows[i].ticks / (double)all : 0.0);
}

/* A trace without references says little to those who want them. */
static void warn_of_missing(const struct session *s)
{
    struct pipe_stats n = pipeline_stats(s->pipeline);
    for (u32 i = 0; i < s->n; i++)
        if (s->analyses[i]->wants_memory && n.works && !n.refs)
            warn("%s looks at memory references, and there are none in the trace; if it was recorded with "
                 "--events=control, record it again without that",
                 s->analyses[i]->name);
}

/* Show what was found; the status of a command that could not. */
static int end(struct session *s, int (*show)(struct session *s))
{
    int status = show(s) ? 1 : 0;
    if (s->stats)
        print_stats(s);
    return status;
}

/* A trace that is written besides is as gait record writes it, whatever the analyses want; but it has what is watched for them. */
static struct run_options options_of(const struct session *s, char **argv)
{
    struct run_options o = {.argv = argv, .events = EVENTS_control, .follow = s->follow};
    for (u32 i = 0; i < s->n; i++) {
        if (s->analyses[i]->wants_memory)
            o.events = EVENTS_memory;
        o.watch |= s->analyses[i]->wants_watch;
    }
    if (s->output) {
        o.events = EVENTS_memory;
        o.sink = SINK_file;
        o.output = s->output;
    }
    attach_into(&s->attach, s->command, &o);
    return o;
}

/* What was seen is shown, even if something went wrong on the way. */
static int run_program(struct session *s, char **argv, int (*show)(struct session *s))
{
    struct run_options o = options_of(s, argv);
    choices_apply(&s->choices, &o);
    struct live live = {.pipeline = s->pipeline};
    struct run_result result;
    struct err e;
    int failed = live_run(&live, &o, s->workers, &result, &e);
    if (!result.ran)
        die("%s", e.text);
    report_run(&o, &result);
    bool any = choices_report(&s->choices);
    s->modules = live.modules.v;
    s->n_modules = live.modules.n;
    int status = end(s, show);
    live_fini(&live);
    if (s->stats && o.attach)
        print_run_stats(&result);
    if (failed)
        die("%s", e.text);
    if (status || !any)
        return 1;
    return o.attach ? 0 : end_like(result.status);
}

/* What the analyses keep of a trace that others follow. */
static void join_trace(struct session *s)
{
    struct sources sources;
    sources_init(&sources, s->modules, s->n_modules);
    for (u32 i = 0; i < s->n; i++)
        s->analyses[i]->join(s->studies[i], &sources);
    sources_fini(&sources);
}

static int read_trace(struct session *s, const char *path, bool is_last, int (*show)(struct session *s))
{
    struct trace t;
    struct err e;
    int status = 0;
    if (trace_open(&t, path, &e) || replay(s->pipeline, &t, s->workers, &e))
        die("%s", e.text);
    s->modules = t.modules.v;
    s->n_modules = t.modules.n;
    if (is_last) {
        warn_of_missing(s);
        status = end(s, show);
    } else {
        join_trace(s);
    }
    report_trouble(&t);
    trace_close(&t);
    return status;
}

static int read_traces(struct session *s, char **paths, int n, int (*show)(struct session *s))
{
    int status = 0;
    for (int i = 0; i < n; i++)
        status = read_trace(s, paths[i], i + 1 == n, show);
    return status;
}

/* Do all analyses want as many traces as there are? */
static bool joins(const struct session *s)
{
    bool all = true;
    for (u32 i = 0; i < s->n; i++)
        all &= s->analyses[i]->joins && s->analyses[i]->joins(s->studies[i]);
    return all && s->n;
}

int session_run(struct session *s, int argc, char **argv, int (*show)(struct session *s))
{
    struct err e;
    bool runs = optind < argc && optind > 1 && !strcmp(argv[optind - 1], "--"),
         live = runs || s->attach.pid;
    if (s->attach.pid && optind < argc)
        die_usage("%s: process %d is attached to, and %s is one thing more", s->command,
                  s->attach.pid, argv[optind]);
    const char *path = live                           ? NULL
                       : optind < argc && joins(s) ? argv[optind]
                                                      : only_argument(argc, argv, "TRACE, -p PID or -- PROGRAM");
    if (path && s->output)
        die_usage("%s: -o is for the trace of a program, and %s is not run", s->command, path);
    s->pipeline = pipeline_new(s->analyses, s->studies, s->n, s->workers, &e);
    if (!s->pipeline)
        die_usage("%s: %s", s->command, e.text);
    int status =
        live ? run_program(s, runs ? argv + optind : NULL, show) : read_traces(s, argv + optind, argc - optind, show);
    pipeline_free(s->pipeline);
    choices_fini(&s->choices);
    return status;
}
