/* SPDX-License-Identifier: MIT */
/* Threads of the program run before all others on their way to a stop. Otherwise each would take its turn with whatever else the machine
 * has to do, while those that have stopped already wait for it.
 *
 * None may be left with a priority that it did not have, even if gait is killed at that moment. So priority is lent: for each thread a
 * helper of ours waits for a mutex with priority inheritance, which the thread holds, by the number in it, and knows nothing of. As long as the
 * helper waits and has a priority, the thread has it. To lend is to give it to the helpers, which wait already. */
#include "host/process.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    HELPERS = 128, /* more threads than that get nothing */
    HELPER_STACK = 64 << 10,
    WAIT_NS = 20000000,             /* how long one waits before it looks whether all is over */
    READY_TRIES = 200, READY_US = 50 /* how long all may take to wait */
};

struct helper {
    struct boost *boost;
    u32 mutex;
    u32 tid; /* its own; 0: it has not begun */
    bool lends;
};

struct boost {
    u32 users; /* helpers, and who made them: the last one frees it */
    u32 over;
    u32 n;
    struct helper helper[HELPERS];
};

static void set_priority(pid_t tid, int priority)
{
    sched_setscheduler(tid, priority ? SCHED_RR : SCHED_OTHER, &(struct sched_param){.sched_priority = priority});
}

static void leave(struct boost *b)
{
    if (__atomic_sub_fetch(&b->users, 1, __ATOMIC_ACQ_REL) == 0)
        free(b);
}

static void *helper_main(void *helper)
{
    struct helper *h = helper;
    store_release(&h->tid, (u32)gettid());
    while (!load_acquire(&h->boost->over)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WAIT_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (!syscall(SYS_futex, &h->mutex, FUTEX_LOCK_PI, 0, &until, NULL, 0) || errno != ETIMEDOUT)
            clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL); /* the thread has ended */
    }
    leave(h->boost);
    return NULL;
}

static bool has_begun(const struct helper *h)
{
    return load_relaxed(&h->mutex) & FUTEX_WAITERS;
}

/* A helper begins to wait at once, however much there is to do, and lends nothing from then on. */
static void wait_until_ready(struct boost *b)
{
    for (u32 i = 0, ready = 0; i < READY_TRIES && ready < b->n; i++) {
        usleep(READY_US);
        for (u32 k = 0; k < b->n; k++)
            if (b->helper[k].lends && has_begun(&b->helper[k])) {
                set_priority((pid_t)b->helper[k].tid, 0);
                b->helper[k].lends = false;
                ready++;
            }
    }
}

struct boost *boost_begin(const struct pids *threads)
{
    struct boost *b = zeros(1, sizeof *b);
    pthread_attr_t attr;
    b->users = 1;
    check(pthread_attr_init(&attr) == 0);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, HELPER_STACK);
    pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attr, SCHED_RR);
    pthread_attr_setschedparam(&attr, &(struct sched_param){.sched_priority = PRIORITY_THEIRS});
    for (size_t i = 0; i < threads->n && b->n < HELPERS; i++) {
        struct helper *h = &b->helper[b->n];
        pthread_t ignored;
        *h = (struct helper){.boost = b, .mutex = (u32)threads->v[i], .lends = true};
        __atomic_add_fetch(&b->users, 1, __ATOMIC_ACQ_REL);
        if (pthread_create(&ignored, &attr, helper_main, h)) {
            leave(b);
            break;
        }
        b->n++;
    }
    pthread_attr_destroy(&attr);
    wait_until_ready(b);
    return b;
}

void boost_lend(struct boost *b)
{
    for (u32 i = 0; b && i < b->n; i++)
        if (!b->helper[i].lends) {
            b->helper[i].lends = true;
            set_priority((pid_t)b->helper[i].tid, PRIORITY_THEIRS);
        }
}

void boost_end(struct boost **boost)
{
    struct boost *b = *boost;
    if (!b)
        return;
    for (u32 i = 0; i < b->n; i++)
        if (b->helper[i].tid)
            set_priority((pid_t)b->helper[i].tid, 0);
    store_release(&b->over, 1);
    leave(b);
    *boost = NULL;
}
