/* SPDX-License-Identifier: MIT */
/* gait analyze, and each analysis as a command of its own: of a trace, or of a program while it runs. */
#include "analyze/pipeline.h"
#include "analyze/replay.h"
#include "base/number.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ANALYSES = 16 /* at a time */, WORKERS = 64 };

enum { OPT_TOP = 256, OPT_JSON, OPT_CSV, OPT_STATS, OPT_FOLLOW, OPT_SET, OPT_OWN };
static const struct option common[] = {
    {"top", required_argument, NULL, OPT_TOP},
    {"json", no_argument, NULL, OPT_JSON},
    {"csv", no_argument, NULL, OPT_CSV},
    {"stats", no_argument, NULL, OPT_STATS},
    {"follow", required_argument, NULL, OPT_FOLLOW},
    {"jobs", required_argument, NULL, 'j'},
    {"analyses", required_argument, NULL, 'a'},
    {"set", required_argument, NULL, OPT_SET},
};

static const char *const follow_names[] = {"no", "yes"};

struct session {
    const char *command;
    const struct analysis *analyses[ANALYSES];
    void *studies[ANALYSES];
    u32 n;
    u32 workers;
    bool follow, stats;
    size_t top;
    void (*print)(FILE *f, const struct result *r, size_t top);
    struct pipeline *pipeline;
    VEC(struct trace_module) modules; /* of all processes; the texts are ours if `live` */
    bool live;
};

/* A process of a live program: it has an order of its own. */
struct live {
    struct session *session;
    u32 number;
    struct pipe_order *order;
    struct pipe_memory *memory;
};

/* -- A program while it runs ------------------------------------------------------------------- */

static void *live_begin(void *session, u32 number, const struct unit_table *t)
{
    struct session *s = session;
    struct live *x = malloc(sizeof *x);
    check(x != NULL);
    *x = (struct live){.session = s, .number = number, .order = pipeline_order(s->pipeline)};
    x->memory = pipeline_begin(x->order, number, t);
    return x;
}

static void *live_open(void *live, u64 turn, u32 thread)
{
    struct live *x = live;
    return pipeline_open(x->memory, turn, thread);
}

static void live_batch(void *stretch, const struct events *e)
{
    pipeline_add(stretch, e);
}

static void live_close(void *stretch)
{
    pipeline_close(stretch);
}

static char *copy(const char *s)
{
    char *c = strdup(s);
    check(c != NULL);
    return c;
}

static void live_end(void *live, const struct trace_module *m, size_t n)
{
    struct live *x = live;
    for (size_t i = 0; i < n; i++) {
        struct trace_module own = m[i];
        own.process = x->number;
        own.path = copy(own.path);
        own.build_id = copy(own.build_id);
        vec_push(&x->session->modules, own);
    }
    pipeline_end(x->memory);
    pipeline_order_free(x->order);
    free(x);
}

static int run_program(struct session *s, char **argv)
{
    struct analyst a = {s,          s->workers, live_begin, live_open,
                        live_batch, live_close, live_end};
    struct run_options o = {.argv = argv,
                            .events = EVENTS_control,
                            .sink = SINK_analyst,
                            .follow = s->follow,
                            .analyst = &a};
    struct run_result result;
    struct err e;
    for (u32 i = 0; i < s->n; i++)
        if (s->analyses[i]->wants_memory)
            o.events = EVENTS_memory;
    s->live = true;
    if (host_run(&o, &result, &e))
        die("%s", e.text);
    report_run(&o, &result);
    if (result.undecodable)
        die("the records of the program could not be decoded: %s", result.decode_error.text);
    return result.status;
}

/* -- A trace ----------------------------------------------------------------------------------- */

static void read_trace(struct session *s, struct trace *t)
{
    struct err e;
    if (replay(s->pipeline, t, s->workers, &e))
        die("%s", e.text);
    for (size_t i = 0; i < t->modules.n; i++)
        vec_push(&s->modules, t->modules.v[i]);
}

/* -- Options ----------------------------------------------------------------------------------- */

static void add_analysis(struct session *s, const char *name)
{
    const struct analysis *a = analysis_find(name);
    if (!a)
        die_usage("%s: there is no analysis %s", s->command, name);
    for (u32 i = 0; i < s->n; i++)
        if (s->analyses[i] == a)
            return;
    check(s->n < ANALYSES);
    s->studies[s->n] = a->make();
    s->analyses[s->n++] = a;
}

static void add_analyses(struct session *s, char *names)
{
    for (char *rest = names, *name; (name = strsep(&rest, ","));)
        add_analysis(s, name);
}

static void set_option(struct session *s, u32 i, const char *option, const char *value)
{
    struct err e;
    const char *name = s->analyses[i]->name;
    bool own = !strcmp(s->command, name);
    if (s->analyses[i]->set(s->studies[i], option, value, &e))
        die_usage("%s: %s%s%s %s", s->command, own ? "--" : name, own ? "" : ".", option, e.text);
}

static const struct analysis_option *find_option(const struct analysis *a, const char *name)
{
    for (const struct analysis_option *o = a->options; o && o->name; o++)
        if (!strcmp(o->name, name))
            return o;
    return NULL;
}

/* ANALYSIS.OPTION=VALUE, or without =VALUE if it takes none. */
static void set_dotted(struct session *s, char *text)
{
    char *value = strchr(text, '='), *option = strchr(text, '.');
    if (value)
        *value++ = 0;
    if (!option || (value && option > value))
        die_usage("%s: --set wants ANALYSIS.OPTION=VALUE, not %s", s->command, text);
    *option++ = 0;
    for (u32 i = 0; i < s->n; i++) {
        if (strcmp(s->analyses[i]->name, text))
            continue;
        const struct analysis_option *o = find_option(s->analyses[i], option);
        if (!o)
            die_usage("%s: %s has no option %s", s->command, text, option);
        if (!o->argument != !value)
            die_usage("%s: the option %s of %s %s", s->command, option, text,
                      value ? "takes no value" : "wants a value");
        set_option(s, i, option, value ? value : "");
        return;
    }
    die_usage("%s: %s is not among the analyses; name it with -a first", s->command, text);
}

/* The common options, and those of the analysis if the command is one. */
static const struct option *make_options(const struct analysis *a)
{
    static struct option all[ARRAY_LEN(common) + 32];
    u32 n = 0;
    for (u32 i = 0; i < ARRAY_LEN(common); i++)
        if (!a || (common[i].val != 'a' && common[i].val != OPT_SET))
            all[n++] = common[i];
    for (const struct analysis_option *o = a ? a->options : NULL; o && o->name; o++) {
        check(n + 1 < ARRAY_LEN(all));
        all[n++] = (struct option){o->name, o->argument ? required_argument : no_argument, NULL,
                                   OPT_OWN + (int)(o - a->options)};
    }
    all[n] = (struct option){0};
    return all;
}

static void read_options(struct session *s, int argc, char **argv)
{
    const struct analysis *own = s->n ? s->analyses[0] : NULL;
    const struct option *options = make_options(own);
    for (int c; (c = next_option(argc, argv, own ? "+j:" : "+j:a:", options)) != -1;) {
        switch (c) {
        case OPT_TOP:
            s->top = option_number(argv[0], "top", "a number of rows", optarg);
            break;
        case OPT_JSON:
            s->print = report_json;
            break;
        case OPT_CSV:
            s->print = report_csv;
            break;
        case OPT_STATS:
            s->stats = true;
            break;
        case OPT_FOLLOW:
            s->follow = option_word("follow", optarg, follow_names, ARRAY_LEN(follow_names));
            break;
        case 'j':
            s->workers = (u32)option_number(argv[0], "jobs", "a number of threads", optarg);
            if (!s->workers || s->workers > WORKERS)
                die_usage("%s: --jobs is between 1 and %d", argv[0], WORKERS);
            break;
        case 'a':
            add_analyses(s, optarg);
            break;
        case OPT_SET:
            set_dotted(s, optarg);
            break;
        default:
            set_option(s, 0, own->options[c - OPT_OWN].name, optarg ? optarg : "");
        }
    }
}

/* -- The end ----------------------------------------------------------------------------------- */

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

/* Results of several analyses have the analysis before the names of their tables. */
static void qualify(struct result *r, size_t from, const char *name)
{
    char text[256];
    for (size_t i = from; i < r->tables.n; i++) {
        snprintf(text, sizeof text, "%s.%s", name, r->tables.v[i]->name);
        r->tables.v[i]->name = result_text(r, text);
        snprintf(text, sizeof text, "%s: %s", name, r->tables.v[i]->title);
        r->tables.v[i]->title = result_text(r, text);
    }
}

static void show(struct session *s)
{
    struct sources sources;
    struct result r = {0};
    sources_init(&sources, s->modules.v, s->modules.n);
    for (u32 i = 0; i < s->n; i++) {
        size_t from = r.tables.n;
        s->analyses[i]->finish(s->studies[i], &sources, &r);
        if (s->n > 1)
            qualify(&r, from, s->analyses[i]->name);
    }
    s->print(stdout, &r, s->top);
    stdout_flush();
    result_fini(&r);
    sources_fini(&sources);
}

static void close_session(struct session *s)
{
    for (u32 i = 0; i < s->n; i++)
        s->analyses[i]->drop(s->studies[i]);
    for (size_t i = 0; s->live && i < s->modules.n; i++) {
        free(s->modules.v[i].path);
        free(s->modules.v[i].build_id);
    }
    vec_fini(&s->modules);
    pipeline_free(s->pipeline);
}

int cmd_analyze(int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct session s = {.command = argv[0],
                        .workers = (u32)MAX(1, MIN(cores, 8)),
                        .follow = true,
                        .top = 20,
                        .print = report_text};
    struct trace t;
    struct err e;
    int status = 0;
    if (strcmp(argv[0], "analyze"))
        add_analysis(&s, argv[0]);
    read_options(&s, argc, argv);
    if (!s.n)
        die_usage("analyze: no analysis was given; name some with -a");
    s.pipeline = pipeline_new(s.analyses, s.studies, s.n, s.workers, &e);
    if (!s.pipeline)
        die_usage("%s: %s", argv[0], e.text);
    if (optind < argc && !strcmp(argv[optind - 1], "--")) {
        status = run_program(&s, argv + optind);
    } else {
        if (trace_open(&t, only_argument(argc, argv, "TRACE, or -- PROGRAM"), &e))
            die("%s", e.text);
        read_trace(&s, &t);
    }
    show(&s);
    if (s.stats)
        print_stats(&s);
    bool live = s.live;
    close_session(&s);
    if (live)
        return end_like(status);
    report_trouble(&t);
    trace_close(&t);
    return 0;
}
