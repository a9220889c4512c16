/* SPDX-License-Identifier: MIT */
/* Which code of the cache the program'p threads may still be in, or come back to.
 *
 * Each thread says in its block whether it is inside the cache (enter_cache, and `save` on the way
 * out), and whether it reads the index to fill the jump tables (look_up). The epoch is raised when
 * units are dropped: what a thread outside found before is then void, and it looks again before it
 * enters. It is odd while all units are dropped: nobody enters. docs/architecture.md says why this is
 * enough. */
#include "host/process.h"

#include <time.h>
#include <unistd.h>

/* A thread leaves at its next gate. One that does not was killed alone, on memory that others share. */
enum { LEAVE_SECONDS = 60, SPIN_PAUSES = 2000 };

static void raise_epoch(struct process *p, u64 by)
{
    p->epoch += by;
    __atomic_store_n(&p->control->epoch, p->epoch, __ATOMIC_SEQ_CST);
}

static u32 n_blocks(const struct process *p)
{
    return MIN(load_acquire(&p->control->blocks), (u32)WIRE_THREADS);
}

static bool is_looking(const struct thread *t)
{
    return load_acquire(&t->looking);
}

static bool is_inside(const struct thread *t)
{
    return load_acquire(&t->inside) || is_looking(t);
}

/* Wait until it holds for no thread; false if that takes too long. */
static bool wait_for_none(struct process *p, bool (*holds)(const struct thread *))
{
    time_t until = time(NULL) + LEAVE_SECONDS;
    u32 spins = 0;
    for (u32 i = 0; i < n_blocks(p);) {
        struct thread *t = process_thread(p, i);
        if (!holds(t)) {
            i++;
            continue;
        }
        serve_fault(p, i); /* it comes out when it knows what faulted */
        if (spins++ < SPIN_PAUSES) {
            __builtin_ia32_pause();
            continue;
        }
        usleep(50);
        if (load_acquire(&p->stopping) || time(NULL) > until)
            return false;
    }
    return true;
}

void epoch_begin(struct process *p)
{
    p->epoch = 0;
    raise_epoch(p, 2);
}

void epoch_dropped(void *process)
{
    raise_epoch(process, 2);
}

void epoch_settle(void *process)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    wait_for_none(process, is_looking);
}

bool epoch_stop(void *process)
{
    struct process *p = process;
    if (p->thread_is_lost)
        return false;
    raise_epoch(p, 1);
    for (u32 i = 0; i < n_blocks(p); i++)
        store_relaxed(&process_thread(p, i)->limit, 0);
    if (wait_for_none(p, is_inside))
        return true;
    p->thread_is_lost = true;
    raise_epoch(p, 1);
    return false;
}

void epoch_go(void *process)
{
    raise_epoch(process, 1);
}
