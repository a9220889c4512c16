/* SPDX-License-Identifier: MIT */
/* gait record: run a program from the code cache and write its trace. */
#include "cmd/cmd.h"
#include "cmd/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_EVENTS = 256, OPT_SINK, OPT_OVERFLOW, OPT_FOLLOW, OPT_WATCH, OPT_STATS };
static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},
    {"events", required_argument, NULL, OPT_EVENTS},
    {"sink", required_argument, NULL, OPT_SINK},
    {"overflow", required_argument, NULL, OPT_OVERFLOW},
    {"stats", no_argument, NULL, OPT_STATS},
    {"follow", required_argument, NULL, OPT_FOLLOW},
    CHOICE_OPTIONS,
    {"watch", required_argument, NULL, OPT_WATCH},
    {0},
};

static const char *const sink_names[] = {
    [SINK_drop] = "drop", [SINK_decode] = "decode", [SINK_file] = "file"};

static const char *const overflow_names[] = {[OVERFLOW_wait] = "wait", [OVERFLOW_drop] = "drop"};
static const char *const follow_names[] = {"no", "yes"};

/* PROG.gait in the current directory. */
static const char *default_output(const char *program)
{
    static char path[4096];
    const char *slash = strrchr(program, '/');
    snprintf(path, sizeof path, "%s.gait", slash ? slash + 1 : program);
    return path;
}

int cmd_record(int argc, char **argv)
{
    struct run_options o = {.events = EVENTS_memory, .sink = SINK_file, .follow = true};
    struct run_result r;
    struct err e;
    bool stats = false;
    struct choices choices;
    choices_init(&choices, argv[0]);
    for (int c; (c = next_option(argc, argv, "+o:", options)) != -1;) {
        if (choices_option(&choices, c))
            continue;
        switch (c) {
        case 'o':
            o.output = optarg;
            break;
        case OPT_EVENTS:
            o.events = option_events(optarg);
            break;
        case OPT_SINK:
            o.sink = option_word("sink", optarg, sink_names, ARRAY_LEN(sink_names));
            break;
        case OPT_OVERFLOW:
            o.overflow = option_word("overflow", optarg, overflow_names, ARRAY_LEN(overflow_names));
            break;
        case OPT_FOLLOW:
            o.follow = option_word("follow", optarg, follow_names, ARRAY_LEN(follow_names));
            break;
        case OPT_WATCH:
            o.watch = option_watch(optarg);
            break;
        case OPT_STATS:
            stats = true;
            break;
        }
    }
    if (optind == argc)
        die_usage("record: name the program to run");
    o.argv = argv + optind;
    if (!o.output)
        o.output = default_output(o.argv[0]);
    choices_apply(&choices, &o);
    int failed = host_run(&o, &r, &e);
    if (stats && r.ran)
        print_run_stats(&r);
    if (failed)
        die("%s", e.text);
    report_run(&o, &r);
    bool any = choices_report(&choices);
    choices_fini(&choices);
    return any ? end_like(r.status) : 1;
}
