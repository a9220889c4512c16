/* SPDX-License-Identifier: MIT */
/* The periods of a time budget. What threads do in them is guest/budget.c. */
#include "host/process.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static u64 ticks(void)
{
    return __builtin_ia32_rdtsc();
}

/* How fast the time stamp counter counts. */
static u64 measure_rate(void)
{
    struct timespec nap = {0, 5000000};
    double from = monotonic();
    u64 first = ticks();
    nanosleep(&nap, NULL);
    return (u64)((double)(ticks() - first) / (monotonic() - from));
}

void budget_begin(struct run *r)
{
    if (!(r->options->budget.seconds > 0))
        return;
    r->period.rate = measure_rate();
    r->period.length = (u64)(r->options->budget.period * (double)r->period.rate);
    r->period.began = ticks();
}

void budget_tell(const struct run *r, struct control *c)
{
    const struct budget *b = &r->options->budget;
    if (!(b->seconds > 0))
        return;
    double rate = (double)r->period.rate;
    c->budget = (u64)(b->seconds * rate);
    c->tick_rate = r->period.rate;
    c->policy = b->policy;
    c->shares_budget = b->is_shared;
    c->period = r->period.number;
    c->period_began = r->period.began;
}

static void begin_period(struct run *r, struct process *p)
{
    struct control *c = p->control;
    store_relaxed(&c->period_began, r->period.began);
    __atomic_store_n(&c->period, r->period.number, __ATOMIC_SEQ_CST);
    if (c->policy != POLICY_tc)
        gates_close(p);
}

void budget_look(struct run *r)
{
    u64 passed = ticks() - r->period.began;
    if (!r->period.rate || passed < r->period.length)
        return;
    r->period.began += passed / r->period.length * r->period.length;
    r->period.number++;
    for (size_t i = 0; i < r->processes.n; i++)
        begin_period(r, r->processes.v[i]);
}

u64 budget_wait(const struct run *r)
{
    u64 passed = ticks() - r->period.began, left = r->period.length - MIN(passed, r->period.length);
    return r->period.rate ? MAX((u64)((double)left / (double)r->period.rate * 1e9), 1000) : 0;
}

/* The program has other things to do in its time than to wait for a processor. So gait's threads keep to those that it may not use, or else to one half of them all; and those that nobody
 * waits for give way to the one that translates, which asks for short turns: the kernel lets these begin at once. */
static void keep_aside(pid_t program)
{
    cpu_set_t ours, its, aside;
    if (sched_getaffinity(0, sizeof ours, &ours) || sched_getaffinity(program, sizeof its, &its))
        return;
    CPU_AND(&its, &ours, &its);
    CPU_XOR(&aside, &ours, &its);
    int left = CPU_COUNT(&aside) ? 0 : CPU_COUNT(&ours) / 2;
    for (int i = CPU_SETSIZE; i-- > 0 && left;)
        if (CPU_ISSET(i, &ours)) {
            CPU_SET(i, &aside);
            left--;
        }
    if (CPU_COUNT(&aside))
        sched_setaffinity(0, sizeof aside, &aside);
}

/* As the kernel has it: its header and libc's do not go together. */
struct sched_attr {
    u32 size, policy;
    u64 flags;
    s32 nice;
    u32 priority;
    u64 runtime, deadline, period;
};

void budget_yield(const struct process *p, bool is_waited_for)
{
    enum { NICE = 10, TURN = 100000 };
    struct sched_attr a = {.size = sizeof a, .policy = SCHED_OTHER, .nice = NICE};
    if (!(p->run->options->budget.seconds > 0))
        return;
    keep_aside(p->pid);
    if (is_waited_for) {
        a.nice = getpriority(PRIO_PROCESS, 0);
        a.runtime = TURN;
    }
    syscall(SYS_sched_setattr, 0, &a, 0);
}
