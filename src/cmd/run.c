/* SPDX-License-Identifier: MIT */
/* Run a program for a command, say what went wrong, and end as it ended. */
#include "cmd/run.h"
#include "cmd/cmd.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

bool attach_option(struct attach_options *a, const char *command, int c)
{
    switch (c) {
    case 'p':
        a->pid = (pid_t)MIN(option_number(command, "pid", "the number of a process", optarg),
                            (u64)INT_MAX);
        return true;
    case OPT_LEAVE:
        a->leave = option_seconds(command, "leave", optarg);
        return true;
    }
    return false;
}

void attach_into(const struct attach_options *a, const char *command, struct run_options *o)
{
    if (a->leave > 0 && !a->pid)
        die_usage("%s: --leave is for a process that is attached to; name it with -p PID", command);
    o->attach = a->pid;
    o->leave = a->leave;
}

enum events_level option_events(const char *given)
{
    static const char *const names[] = {
        [EVENTS_none] = "none", [EVENTS_control] = "control", [EVENTS_memory] = "memory", [EVENTS_values] = "values"};
    return option_word("events", given, names, ARRAY_LEN(names));
}

bool option_watch(const char *given)
{
    static const char *const names[] = {"none", "alloc"};
    return option_word("watch", given, names, ARRAY_LEN(names));
}

void print_run_stats(const struct run_result *r)
{
    const struct run_stats *s = &r->stats;
    const struct {
        const char *name;
        u64 value;
    } rows[] = {
        {"processes", s->processes},
        {"threads", s->threads},
        {"untraced tasks", s->untraced},
        {"native steps", s->stepped},
        {"units", s->units},
        {"hot units", s->hot},
        {"settled units", s->settled},
        {"  dropped", s->dropped},
        {"  found changed", s->changed},
        {"  translated ahead", s->ahead},
        {"flushes of the cache", s->flushes},
        {"instructions in units", s->insns},
        {"app code bytes", s->app_bytes},
        {"cache bytes", s->cache_bytes},
        {"links", s->links},
        {"doors", s->doors},
        {"requests", s->requests},
        {"gates", s->gates},
        {"indirect misses", s->indirect_misses},
        {"return misses", s->return_misses},
        {"system calls", s->syscalls},
        {"times in native code", s->rests},
        {"buffers", s->buffers},
        {"waits for a buffer", s->buffer_waits},
        {"record bytes", s->record_bytes},
        {"buffers dropped", s->lost_buffers},
        {"bytes dropped", s->lost_bytes},
        {"records", r->counts.records},
        {"instructions", r->counts.instructions},
        {"loads", r->counts.loads},
        {"stores", r->counts.stores},
        {"modifies", r->counts.modifies},
    };
    fprintf(stderr, "%-24s %14.3f\n%-24s %14.3f\n%-24s %14.3f\n", "seconds", s->seconds,
            "  program, user", s->user_seconds, "  program, system", s->system_seconds);
    if (s->windows) {
        fprintf(stderr, "%-24s %14llu\n", "windows", (unsigned long long)s->windows);
        fprintf(stderr, "%-24s %14.3f\n%-24s %14.3f\n", "ms of pause, attaching",
                s->attach_pause * 1e3, "ms of pause, leaving", s->leave_pause * 1e3);
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        fprintf(stderr, "%-24s %14llu\n", rows[i].name, (unsigned long long)rows[i].value);
}

void report_run(const struct run_options *o, const struct run_result *r)
{
    if (r->stats.untraced && o->follow)
        warn("%lu tasks ran untraced%s", (unsigned long)r->stats.untraced,
             o->sink == SINK_file ? "; gait info says which and why" : "");
    if (r->stats.full)
        warn("%lu processes went on untraced, because each had more code than the trace can number",
             (unsigned long)r->stats.full);
    if (r->stats.lost_buffers)
        warn("%lu buffers of records (%lu bytes) were dropped because they could not be stored in "
             "time; "
             "without --overflow=drop the program waits",
             (unsigned long)r->stats.lost_buffers, (unsigned long)r->stats.lost_bytes);
    if (r->stats.stepped && r->refused)
        warn("%lu instructions ran natively, and what they touched is not in the trace; first: %s",
             (unsigned long)r->stats.stepped, r->why.text);
}

int end_like(int status)
{
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    int sig = WTERMSIG(status);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(sig, SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, sig);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(sig);
    return 128 + sig;
}
