/* SPDX-License-Identifier: MIT */
/* In turn: drains finish buffers in any order, the analyst takes them in the order in which they were filled.
 *
 * Whoever hands over a work tries to become the one who gives works to the analyst, and does that while the next in turn is there. If
 * another is at it already, that one will find the work; nobody waits, unless too many works are ahead of their turn. */
#include "host/process.h"

#include <stdlib.h>
#include <unistd.h>

enum { AHEAD = 16 /* works that may be waiting */, WAIT_US = 50 };

struct turns {
    const struct analyst *analyst;
    void *process;
    pthread_mutex_t giving;
    u64 given;         /* works taken so far; atomic */
    void *work[AHEAD]; /* by turn; atomic */
};

struct turns *turns_new(const struct analyst *a, u32 process, const struct unit_table *table)
{
    struct turns *t = calloc(1, sizeof *t);
    check(t != NULL && pthread_mutex_init(&t->giving, NULL) == 0);
    t->analyst = a;
    t->process = a->begin(a->ctx, process, table);
    return t;
}

void turns_free(struct turns *t, const struct trace_module *m, size_t n)
{
    if (!t)
        return;
    t->analyst->end(t->process, m, n);
    pthread_mutex_destroy(&t->giving);
    free(t);
}

void *turns_open(struct turns *t)
{
    return t->analyst->open(t->process);
}

static void **next_place(struct turns *t)
{
    return &t->work[load_acquire(&t->given) % AHEAD];
}

/* With the lock held. */
static void give_all(struct turns *t)
{
    for (void **place; load_acquire((place = next_place(t)));) {
        t->analyst->take(t->process, *place);
        store_relaxed(place, NULL);
        store_release(&t->given, t->given + 1);
    }
}

void turns_close(struct turns *t, u64 turn, void *work)
{
    while (turn - load_acquire(&t->given) >= AHEAD)
        usleep(WAIT_US);
    __atomic_store_n(&t->work[turn % AHEAD], work, __ATOMIC_SEQ_CST);
    /* Who let the lock go a moment ago may not have seen it. */
    while (load_acquire(next_place(t)) && !pthread_mutex_trylock(&t->giving)) {
        give_all(t);
        pthread_mutex_unlock(&t->giving);
    }
}
