/* SPDX-License-Identifier: MIT */
/* Run a program for a command, say what went wrong, and end as it ended. */
#include "cmd/run.h"
#include "cmd/cmd.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

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
