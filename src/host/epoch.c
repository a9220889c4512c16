/* SPDX-License-Identifier: MIT */
/* Which code of the cache the program's threads may still be in, or come back to.
 *
 * Each thread says in its block whether it is inside the cache (enter_cache, and `save` on the way
 * out), and whether it reads the index to fill the jump tables (look_up). The epoch is raised when
 * units are dropped: what a thread outside found before is then void, and it looks again before it
 * enters. It is odd while all units are dropped: nobody enters. docs/architecture.md says why this is
 * enough. */
#include "host/process.h"

#include <time.h>
#include <unistd.h>

/* A thread leaves at its next gate. If it does not it is lost to us, as one that a handler took away. */
enum { LEAVE_SECONDS = 5, SPIN_PAUSES = 2000 };

static void raise_epoch(struct process *s, u64 by)
{
    s->epoch += by;
    __atomic_store_n(&s->control->epoch, s->epoch, __ATOMIC_SEQ_CST);
}

static u32 n_blocks(const struct process *s)
{
    return MIN(load_acquire(&s->control->blocks), (u32)WIRE_THREADS);
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
static bool wait_for_none(struct process *s, bool (*holds)(const struct thread *))
{
    time_t until = time(NULL) + LEAVE_SECONDS;
    u32 spins = 0;
    for (u32 i = 0; i < n_blocks(s);) {
        struct thread *t = process_thread(s, i);
        if (!holds(t)) {
            i++;
            continue;
        }
        serve_fault(s, i); /* it comes out when it knows what faulted */
        if (spins++ < SPIN_PAUSES) {
            __builtin_ia32_pause();
            continue;
        }
        usleep(50);
        if (load_acquire(&s->stopping) || time(NULL) > until)
            return false;
    }
    return true;
}

void epoch_begin(struct process *s)
{
    s->epoch = 0;
    raise_epoch(s, 2);
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
    struct process *s = process;
    if (s->thread_is_lost)
        return false;
    raise_epoch(s, 1);
    for (u32 i = 0; i < n_blocks(s); i++)
        store_relaxed(&process_thread(s, i)->limit, 0);
    if (wait_for_none(s, is_inside))
        return true;
    s->thread_is_lost = true;
    raise_epoch(s, 1);
    return false;
}

void epoch_go(void *process)
{
    raise_epoch(process, 1);
}
