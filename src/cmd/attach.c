/* SPDX-License-Identifier: MIT */
/* gait attach: record a process that runs already, for a while, and leave it as it was. */
#include "cmd/cmd.h"
#include "cmd/select.h"

#include <stdio.h>

enum { OPT_EVENTS = 256, OPT_STATS, OPT_WATCH };
static const struct option options[] = {
    ATTACH_OPTIONS,
    {"output", required_argument, NULL, 'o'},
    {"events", required_argument, NULL, OPT_EVENTS},
    CHOICE_OPTIONS,
    {"watch", required_argument, NULL, OPT_WATCH},
    {"stats", no_argument, NULL, OPT_STATS},
    {0},
};

int cmd_attach(int argc, char **argv)
{
    static char path[64];
    struct run_options o = {.events = EVENTS_memory, .sink = SINK_file, .follow = true};
    struct attach_options a = {0};
    struct run_result r;
    struct err e;
    struct choices choices;
    choices_init(&choices, argv[0]);
    bool stats = false;
    for (int c; (c = next_option(argc, argv, "+p:o:", options)) != -1;) {
        if (attach_option(&a, argv[0], c) || choices_option(&choices, c))
            continue;
        if (c == 'o')
            o.output = optarg;
        else if (c == OPT_STATS)
            stats = true;
        else if (c == OPT_WATCH)
            o.watch = option_watch(optarg);
        else
            o.events = option_events(optarg);
    }
    attach_into(&a, argv[0], &o);
    if (!o.attach)
        die_usage("attach: no process was given; name it with -p PID");
    if (optind < argc)
        die_usage("attach: %s is one argument too many", argv[optind]);
    snprintf(path, sizeof path, "%d.gait", o.attach);
    if (!o.output)
        o.output = path;
    choices_apply(&choices, &o);
    int failed = host_run(&o, &r, &e);
    if (stats && r.ran)
        print_run_stats(&r);
    if (failed)
        die("%s", e.text);
    report_run(&o, &r);
    choices_fini(&choices);
    return 0;
}
