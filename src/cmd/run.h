/* SPDX-License-Identifier: MIT */
/* Commands that run a program. */
#ifndef RUN_H
#define RUN_H

#include "host/host.h"

/* How a process is attached to, for commands that do. */
struct attach_options {
    pid_t pid;    /* 0: none */
    double leave; /* 0: not given */
};
enum { OPT_LEAVE = 128 };
#define ATTACH_OPTIONS                                                                      \
    {"pid", required_argument, NULL, 'p'}, {"leave", required_argument, NULL, OPT_LEAVE}
/* Is it one of these? */
bool attach_option(struct attach_options *a, const char *command, int c);
/* Do they make sense, with what was chosen (select.h) in the options of a run? Then there, too. */
void attach_into(const struct attach_options *a, const char *command, struct run_options *o);

/* What is recorded, and whether allocations are: the words that --events and --watch were given. */
enum events_level option_events(const char *given);
bool option_watch(const char *given);

/* What a run was like, for people, to standard error. */
void print_run_stats(const struct run_result *r);
/* Warn of what was not seen. */
void report_run(const struct run_options *o, const struct run_result *r);
/* End as the program ended: the same status, or the same signal (without a core of ours). */
int end_like(int status);

#endif
