/* SPDX-License-Identifier: MIT */
/* What commands that look at events have in common: a trace, a program that is run, or a process that runs already; how many threads; how results are shown. */
#ifndef SESSION_H
#define SESSION_H

#include "analyze/pipeline.h"
#include "cmd/cmd.h"
#include "cmd/select.h"

#include <stdio.h>

enum { SESSION_ANALYSES = 16 /* at a time */ };

struct session {
    const char *command;
    const struct analysis *analyses[SESSION_ANALYSES];
    void *studies[SESSION_ANALYSES];
    u32 n;
    u32 workers;
    bool follow, stats;
    struct attach_options attach;
    FILE *results;      /* where what was found goes */
    const char *output; /* where a program's trace is to go besides; NULL: nowhere */
    struct choices choices; /* what of the program is looked at */
    size_t top; /* 0: not given */
    void (*print)(FILE *f, const struct result *r, size_t top);
    struct pipeline *pipeline;
    const struct trace_module *modules; /* of all processes, at the end */
    size_t n_modules;
};

/* Options that all have; their own values begin at OPT_OWN. */
enum { OPT_TOP = 256, OPT_JSON, OPT_CSV, OPT_STATS, OPT_FOLLOW, OPT_RESULTS, OPT_OWN };
#define SESSION_OPTIONS                                                                       \
    ATTACH_OPTIONS,                                                                           \
    {"top", required_argument, NULL, OPT_TOP}, {"json", no_argument, NULL, OPT_JSON},         \
        {"csv", no_argument, NULL, OPT_CSV}, {"stats", no_argument, NULL, OPT_STATS},         \
        {"follow", required_argument, NULL, OPT_FOLLOW}, {"jobs", required_argument, NULL, 'j'},  \
        {"output", required_argument, NULL, 'o'}, {"results", required_argument, NULL, OPT_RESULTS}, CHOICE_OPTIONS
#define SESSION_SHORTS "+j:o:p:"

void session_init(struct session *s, const char *command);
/* Is it one of these? */
bool session_option(struct session *s, int c);
/* How many rows to show: people see the first, programs all, unless they were told how many. */
size_t session_top(const struct session *s);
/* Let the analyses see the events of what the arguments from optind on name, then show what they have found, or say why not and
 * return -1. The command's exit status. */
int session_run(struct session *s, int argc, char **argv, int (*show)(struct session *s));

#endif
