/* SPDX-License-Identifier: MIT */
/* gait attach: record a process that runs already, for a while, and leave it as it was. */
#include "cmd/cmd.h"
#include "cmd/select.h"

#include <stdio.h>

enum { OPT_EVENTS = 256, OPT_WATCH };
static const struct option options[] = {
    {"pid", required_argument, NULL, 'p'},
    {"output", required_argument, NULL, 'o'},
    {"events", required_argument, NULL, OPT_EVENTS},
    CHOICE_OPTIONS,
    {"watch", required_argument, NULL, OPT_WATCH},
    {0},
};

static const char *const events_names[] = {
    [EVENTS_none] = "none", [EVENTS_control] = "control", [EVENTS_memory] = "memory"};

static const char *const watch_names[] = {"none", "alloc"};

int cmd_attach(int argc, char **argv)
{
    static char path[64];
    struct run_options o = {.events = EVENTS_memory, .sink = SINK_file, .follow = true};
    struct run_result r;
    struct err e;
    struct choices choices;
    choices_init(&choices, argv[0]);
    for (int c; (c = next_option(argc, argv, "+p:o:", options)) != -1;) {
        if (choices_option(&choices, c))
            continue;
        switch (c) {
        case 'p':
            o.attach = (pid_t)option_number(argv[0], "pid", "the number of a process", optarg);
            break;
        case 'o':
            o.output = optarg;
            break;
        case OPT_WATCH:
            o.watch = option_word("watch", optarg, watch_names, ARRAY_LEN(watch_names));
            break;
        default:
            o.events = option_word("events", optarg, events_names, ARRAY_LEN(events_names));
        }
    }
    if (o.attach <= 0)
        die_usage("attach: no process was given; name it with -p PID");
    if (optind < argc)
        die_usage("attach: %s is one argument too many", argv[optind]);
    snprintf(path, sizeof path, "%d.gait", o.attach);
    if (!o.output)
        o.output = path;
    choices_apply(&choices, &o);
    if (host_run(&o, &r, &e))
        die("%s", e.text);
    report_run(&o, &r);
    choices_fini(&choices);
    return 0;
}
