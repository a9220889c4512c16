/* SPDX-License-Identifier: MIT */
/* A time budget: in each period a thread records until its budget is spent, then runs quiet units until the next one.
 *
 * The clock runs while the thread runs recording units, waits for their translation; not while it is in a system call.
 * (With one budget for the process, from the period's beginning on.) The host closes the gates when a period begins. That a budget is
 * spent, the thread finds itself: what it records is its clock. From how fast the buffer fills it knows how much it will record in half
 * the time that is left, and closes the gate there; so it comes by ever more often, and is late by a few records. No signal is
 * needed that would interrupt system calls, and nobody who would have to be woken in time. If there is no empty buffer, a thread does
 * not wait for one: it goes on quietly until the next period.
 *
 * Selected code begins to record without coming here. So the limit of a quiet thread that may is where its pointer is: quiet units do not
 * move it, and the first that records comes by, and starts the clock. When such code ends it closes the gate, and the clock is stopped there. */
#include "guest/guest.h"

enum { FIRST_STEP = 4096, LEAST_STEP = 128, LARGEST_STEP = 1 << 16 };

static void start_clock(struct thread *t, u64 now)
{
    const struct control *c = control(t);
    t->since = c->shares_budget ? c->period_began : now;
    t->deadline = t->since + (c->budget - MIN(t->used, c->budget));
}

static void stop_clock(struct thread *t, u64 now)
{
    if (t->deadline == NO_DEADLINE)
        return;
    t->used += now - t->since;
    t->deadline = NO_DEADLINE;
}

/* What is told of a period, and of the threads that recorded in it. */
static void put_paused(struct thread *t, u64 now)
{
    const struct control *c = control(t);
    u64 slot[RECORD_paused_slots] = {t->used, t->used - c->budget, c->tick_rate, now};
    put_record(t, RECORD_paused, RECORD_paused_slots, slot);
}

static void pause_clock(struct thread *t, u64 now)
{
    stop_clock(t, now);
    if (t->used && !t->is_spent && records(t))
        put_paused(t, now);
}

void budget_give_up(struct thread *t)
{
    pause_clock(t, time_stamp(t));
    t->is_spent = true;
}

bool budget_is_spent(struct thread *t)
{
    const struct control *c = control(t);
    if (!c->budget)
        return false;
    u64 now = time_stamp(t);
    u32 period = load_acquire(&c->period);
    if (t->period == period && (t->is_spent || now < t->deadline))
        return t->is_spent;
    pause_clock(t, now);
    t->is_spent = t->period == period;
    if (t->is_spent)
        return true;
    t->period = period;
    t->used = 0;
    return false;
}

void budget_begin(struct thread *t)
{
    if (control(t)->budget && !t->quiet)
        start_clock(t, time_stamp(t));
}

void budget_stop(struct thread *t)
{
    if (control(t)->budget && !control(t)->shares_budget)
        stop_clock(t, time_stamp(t));
}

/* What is new has to be translated: that would take all of the budget. */
static bool waits_are_free(const struct control *c)
{
    return c->is_novel && !c->shares_budget;
}

bool budget_waits(struct thread *t)
{
    if (!waits_are_free(control(t)) || t->deadline == NO_DEADLINE)
        return false;
    budget_stop(t);
    return true;
}

u64 budget_step(struct thread *t)
{
    const struct control *c = control(t);
    if (!c->budget || (t->quiet && !t->armed) || c->policy == POLICY_tc)
        return NO_STEP;
    if (t->quiet || c->policy != POLICY_timer || t->deadline == NO_DEADLINE)
        return 0;
    u64 now = time_stamp(t), left = t->deadline - MIN(now, t->deadline);
    u64 took = now - t->step_began, bytes = t->ptr - t->step_from, step = FIRST_STEP;
    if (bytes && bytes <= LARGEST_STEP && took) /* else it is another buffer */
        step = MIN(left / 2, 1ull << 40) * bytes / took;
    t->step_began = now;
    t->step_from = t->ptr;
    return MAX(MIN(step, (u64)LARGEST_STEP), (u64)LEAST_STEP);
}

/* Waiting for a translation is within the budget only as long as it is expected to be: as long as one of the last has taken. A single one that took
 * very long is forgotten soon. */
bool budget_affords_request(struct thread *t)
{
    const struct control *c = control(t);
    if (t->deadline == NO_DEADLINE || c->policy == POLICY_tc || waits_are_free(c))
        return true;
    u64 now = time_stamp(t), left = t->deadline - MIN(now, t->deadline);
    if (left > MIN(t->request_ticks, c->budget / 4))
        return true;
    t->request_ticks -= t->request_ticks / 8;
    return false;
}

void budget_note_request(struct thread *t, u64 began)
{
    t->request_ticks = MAX(time_stamp(t) - began, t->request_ticks - t->request_ticks / 64);
}

bool budget_has_changed(const struct thread *t)
{
    const struct control *c = control(t);
    return c->budget && load_acquire(&c->period) != t->period;
}
