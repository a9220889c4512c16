/* SPDX-License-Identifier: MIT */
/* gait tool: give the events of a trace or a program to somebody's own analysis. */
#include "cmd/session.h"
#include "tool/runner.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_SET = OPT_OWN, OPT_PATIENCE, OPT_MEMORY };
static const struct option options[] = {
    SESSION_OPTIONS,
    {"set", required_argument, NULL, OPT_SET},
    {"patience", required_argument, NULL, OPT_PATIENCE},
    {"memory", required_argument, NULL, OPT_MEMORY},
    {0},
};

static int show(struct session *s)
{
    struct runner *r = s->studies[0];
    struct err e;
    int status = runner_end(r, s->modules, s->n_modules, &e);
    if (status)
        warn("%s", e.text);
    if (r->left_out)
        warn(
            "the tool %s has not seen all of %u processes, since there was no room for their code; "
            "it can be shown %u processes of %llu instructions each",
            r->options->path, r->left_out, RING_MEMORIES, MIRROR_INSNS);
    return status || r->left_out ? -1 : 0;
}

/* Half of the machine's memory. */
static u64 default_memory(void)
{
    return (u64)sysconf(_SC_PHYS_PAGES) * (u64)sysconf(_SC_PAGESIZE) / 2;
}

/* The number that an option was given: not so large that it could not be counted. */
static u64 limited(const char *option, const char *what)
{
    u64 n = option_number("tool", option, what, optarg);
    if (n > UINT32_MAX)
        die_usage("tool: --%s %s is too much; 0 is without limit", option, optarg);
    return n;
}

int cmd_tool(int argc, char **argv)
{
    struct session s;
    struct runner runner;
    struct runner_options o = {.patience = 60, .memory = default_memory()};
    VEC(char *) set = {0};
    struct err e;
    session_init(&s, argv[0]);
    for (int c; (c = next_option(argc, argv, SESSION_SHORTS, options)) != -1;) {
        if (session_option(&s, c))
            continue;
        if (c == OPT_SET)
            vec_push(&set, optarg);
        else if (c == OPT_PATIENCE)
            o.patience = (u32)limited("patience", "a number of seconds");
        else
            o.memory = limited("memory", "a number of MB") << 20;
    }
    if (optind >= argc)
        die_usage("tool: no TOOL.so was given");
    vec_push(&set, NULL);
    o.path = argv[optind++];
    o.set = set.v;
    o.jobs = s.workers;
    o.top = session_top(&s);
    o.print = s.print;
    o.results = s.results;
    if (optind < argc && !strcmp(argv[optind], "--"))
        optind++;
    if (optind >= argc && !s.attach.pid)
        die_usage("tool: no TRACE, no -p PID and no -- PROGRAM was given");
    if (runner_start(&runner, &o, &e))
        die("%s", e.text);
    s.analyses[0] = &runner_analysis;
    s.studies[0] = &runner;
    s.n = 1;
    int status = session_run(&s, argc, argv, show);
    vec_fini(&set);
    return status;
}
