/* SPDX-License-Identifier: MIT */
/* A ring in shared memory, and futexes on it. */
#include "tool/ring.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NAP_MS = 100 /* nobody sleeps longer: the other side may have died without a word */ };

#define CONTROL_SIZE ALIGN_UP(sizeof(struct ring_control), 4096)
#define HEAD_SIZE    ALIGN_UP(sizeof(struct ring_head), 4096)
#define RING_SIZE    (CONTROL_SIZE + HEAD_SIZE + RING_MEMORIES * MIRROR_SIZE)

int ring_init(struct ring *r, struct err *e)
{
    u8 *p = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return err_set(e,
                       "%llu GB of address space for the events cannot be had: %s; see ulimit -v "
                       "and vm.overcommit_memory",
                       RING_SIZE >> 30, strerror(errno));
    madvise(p, RING_SIZE, MADV_DONTDUMP); /* or a core would take hours */
    *r = (struct ring){.control = (struct ring_control *)p,
                       .head = (struct ring_head *)(p + CONTROL_SIZE),
                       .mirrors = p + CONTROL_SIZE + HEAD_SIZE,
                       .peer = -1};
    return 0;
}

void ring_fini(struct ring *r)
{
    munmap(r->control, RING_SIZE);
}

void ring_begin(struct ring *r)
{
    u32 n = load_acquire(&r->control->n_readers);
    r->n_readers = MIN(n, (u32)RING_READERS);
}

void *ring_room(struct ring *r)
{
    return r->n_mirrors < RING_MEMORIES ? r->mirrors + MIRROR_SIZE * r->n_mirrors++ : NULL;
}

/* -- Waiting ------------------------------------------------------------------------------------ */

static void sleep_on(u32 *word, u32 seen, u32 ms)
{
    struct timespec limit = {ms / 1000, ms % 1000 * 1000000l};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &limit, NULL, 0);
}

bool ring_is_alone(const struct ring *r)
{
    struct pollfd p = {.fd = r->peer, .events = POLLIN};
    return r->peer >= 0 && poll(&p, 1, 0) == 1;
}

/* The side that may have to be woken has said so before it looked for the last time. */
static void ring_bell(u32 *bell, const u32 *waits)
{
    __atomic_fetch_add(bell, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(waits, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void ring_say(struct ring *r, enum ring_state s)
{
    __atomic_store_n(&r->control->state, s, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &r->control->state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

enum ring_state ring_wait(struct ring *r, enum ring_state s, u32 ms)
{
    if (load_acquire(&r->control->state) == s)
        sleep_on(&r->control->state, s, ms);
    return load_acquire(&r->control->state);
}

static bool somebody_reads(const struct ring *r)
{
    return load_acquire(&r->control->state) == RING_ready && !ring_is_alone(r);
}

/* -- Putting ------------------------------------------------------------------------------------ */

u64 ring_passed(const struct ring *r)
{
    u64 least = load_relaxed(&r->head->put);
    for (u32 i = 0; i < r->n_readers; i++) {
        u64 n = load_acquire(&r->control->passed[i]);
        least = MIN(least, n);
    }
    return least;
}

static bool has_slot(const struct ring *r)
{
    return load_relaxed(&r->head->put) - ring_passed(r) < RING_SLOTS;
}

/* Wait for a free slot; NULL if nobody reads any more. */
static struct ring_slot *free_slot(struct ring *r)
{
    struct ring_head *h = r->head;
    while (!has_slot(r) && somebody_reads(r)) {
        u32 seen = load_acquire(&r->control->read_bell);
        __atomic_store_n(&h->maker_waits, 1, __ATOMIC_SEQ_CST);
        if (!has_slot(r))
            sleep_on(&r->control->read_bell, seen, NAP_MS);
        store_relaxed(&h->maker_waits, 0);
    }
    return has_slot(r) && load_acquire(&r->control->state) == RING_ready
               ? &h->slots[h->put % RING_SLOTS]
               : NULL;
}

static void publish(struct ring *r)
{
    store_release(&r->head->put, r->head->put + 1);
    ring_bell(&r->head->put_bell, &r->control->reader_waits);
}

/* How many runs from `from` on fit into a slot. */
static u32 fitting(const struct view *v, u32 from)
{
    u32 n = 0;
    u32 access = from < v->runs.n ? v->runs.v[from].access : 0;
    while (from + n < v->runs.n && n < RING_RUNS) {
        const struct gait_run *run = &v->runs.v[from + n];
        if (run->access + run->n_accesses - access > RING_ACCESSES)
            break;
        n++;
    }
    check(n || from == v->runs.n); /* a run is of one batch, and that fits */
    return n;
}

static void copy_runs(struct ring_slot *s, const struct view *v, u32 from, u32 n)
{
    s->n_runs = n;
    s->n_accesses = 0;
    if (!n)
        return;
    const struct gait_run *first = v->runs.v + from, *last = first + n - 1;
    s->n_accesses = last->access + last->n_accesses - first->access;
    if (s->n_accesses)
        memcpy(s->accesses, v->accesses.v + first->access, s->n_accesses * sizeof *s->accesses);
    for (u32 i = 0; i < n; i++) {
        s->runs[i] = first[i];
        s->runs[i].access -= first->access;
    }
}

/* The marks up to the one before run `to`; those behind the last run are the last slot's. */
static u32 copy_marks(struct ring_slot *s, const struct view *v, u32 mark, u32 from, u32 to)
{
    s->n_marks = 0;
    for (; mark < v->marks.n && s->n_marks < RING_MARKS; mark++) {
        const struct gait_mark *m = &v->marks.v[mark];
        if (m->run >= to && to < v->runs.n)
            break;
        s->marks[s->n_marks] = *m;
        s->marks[s->n_marks++].run = m->run > from ? m->run - from : 0;
    }
    return mark;
}

void ring_put(struct ring *r, u32 process, u32 thread, const struct view *v, const struct mirror *m)
{
    u32 from = 0, mark = 0;
    while (from < v->runs.n || mark < v->marks.n) {
        struct ring_slot *s = free_slot(r);
        if (!s)
            return;
        u32 n = fitting(v, from);
        s->process = process;
        s->thread = thread;
        s->mirror = (u64)((u8 *)m->insns - r->mirrors);
        s->n_insns = m->n_insns;
        copy_runs(s, v, from, n);
        mark = copy_marks(s, v, mark, from, from + n);
        from += n;
        publish(r);
    }
}

void ring_close(struct ring *r)
{
    store_release(&r->head->closed, 1);
    ring_bell(&r->head->put_bell, &r->control->reader_waits);
}

/* -- Taking ------------------------------------------------------------------------------------- */

void ring_protect(struct ring *r)
{
    check(mprotect(r->head, HEAD_SIZE + RING_MEMORIES * MIRROR_SIZE, PROT_READ) == 0);
}

static bool wait_for(struct ring *r, u64 n)
{
    struct ring_head *h = r->head;
    while (load_acquire(&h->put) <= n) {
        u32 seen = load_acquire(&h->put_bell);
        if (load_acquire(&h->closed) || ring_is_alone(r))
            return load_acquire(&h->put) > n;
        __atomic_fetch_add(&r->control->reader_waits, 1, __ATOMIC_SEQ_CST);
        if (load_acquire(&h->put) <= n && !load_acquire(&h->closed))
            sleep_on(&h->put_bell, seen, NAP_MS);
        __atomic_fetch_sub(&r->control->reader_waits, 1, __ATOMIC_SEQ_CST);
    }
    return true;
}

bool ring_get(struct ring *r, u64 n, struct gait_batch *b)
{
    if (!wait_for(r, n))
        return false;
    const struct ring_slot *s = &r->head->slots[n % RING_SLOTS];
    const struct gait_insn *insns = (const void *)(r->mirrors + s->mirror);
    *b = (struct gait_batch){.process = s->process,
                             .thread = s->thread,
                             .n_runs = s->n_runs,
                             .n_accesses = s->n_accesses,
                             .n_marks = s->n_marks,
                             .n_insns = s->n_insns,
                             .runs = s->runs,
                             .accesses = s->accesses,
                             .marks = s->marks,
                             .insns = insns,
                             .code = (const u8 *)(insns + MIRROR_INSNS)};
    return true;
}

void ring_pass(struct ring *r, u32 reader, u64 n)
{
    store_release(&r->control->passed[reader], n);
    ring_bell(&r->control->read_bell, &r->head->maker_waits);
}
