/* SPDX-License-Identifier: MIT */
/* Bundles: records of one thread on their way to one chunk.
 *
 * A buffer that goes to the file waits in its thread's bundle until a drain packs it, and is given back to the program then. One drain at a
 * time has a bundle, and takes its buffers in order. A bundle that has ended gets no more; who packs its last buffer makes the chunk.
 *
 *     bundles of a process, the oldest first, and the drains that have them
 *
 *        thread 0, ended    [5][6]        first
 *        thread 1           [7]
 *        thread 0           [8][9][10]    second
 *
 * A drain that finds nothing to do takes half of what waits in a bundle that another one has: the bundle ends there, and the rest is a new one. So one
 * thread's records are packed by as many drains as there are. That is done only where much waits, and not where chunks are
 * small whatever they hold: a loop that takes one entry for a million rounds would take one in each.
 *
 * Chunks of one thread go to the file in the order of its bundles: who has made a later one waits for the one before it. The drain
 * that has that one never waits for a later one, and somebody has it: the bundle whose turn comes first is always taken first. */
#include "host/process.h"

#include <stdlib.h>
#include <sys/statvfs.h>

enum {
    OPEN_BUNDLES = 64,        /* of one process; more threads than this take turns */
    SPLIT_WAITING = 16 << 20, /* bytes that must wait */
    SPLIT_LEAST = 32 << 20,   /* ... and that must be in the first part */
    JUDGED = 8 << 20,         /* bytes that tell whether records are regular: */
    REGULAR = 128,            /* these are so many times what becomes of them */
    AT_ONCE = 64,             /* buffers that a drain packs before it looks who waits longest */
};
/* Records wait at most so long for their chunk: what is in none is lost if gait is killed. A regular program's chunk may hold
 * the whole run in a few bytes, so the longer a run lasts, the longer its chunks may. */
static const double least_age = 2.0, age_share = 1.0 / 8;

/* A buffer that waits. */
struct piece {
    u64 turn; /* buffers taken before it */
    u32 buffer, used;
};

struct bundle {
    u32 thread;
    VEC(struct piece) waiting; /* the first of them are packed already */
    size_t first;
    u64 n_waiting, n_packed; /* bytes of records */
    u64 made,
        judged; /* what had become of the first so many of these when we looked whether it becomes more: */
    bool is_irregular; /* it did, in the last few megabytes */
    double opened;
    bool ended;
    bool taken;        /* a drain has it; what follows is that drain's */
    struct pack *pack; /* NULL before the first buffer */
};

/* -- With the lock held ------------------------------------------------------------------------- */

static struct bundle *begin_bundle(struct process *p, u32 thread)
{
    struct bundle *b = calloc(1, sizeof *b);
    check(b != NULL);
    b->thread = thread;
    b->opened = monotonic();
    vec_push(&p->bundles.all, b);
    p->bundles.open++;
    return b;
}

static void end_bundle(struct process *p, struct bundle *b)
{
    if (!b->ended)
        p->bundles.open--;
    b->ended = true;
}

static void end_oldest(struct process *p)
{
    size_t i = 0;
    while (p->bundles.all.v[i]->ended)
        i++;
    end_bundle(p, p->bundles.all.v[i]);
}

/* The thread's bundle that gets its next buffer. */
static struct bundle *open_bundle(struct process *p, u32 thread)
{
    for (size_t i = p->bundles.all.n; i-- > 0;)
        if (p->bundles.all.v[i]->thread == thread && !p->bundles.all.v[i]->ended)
            return p->bundles.all.v[i];
    if (p->bundles.open == OPEN_BUNDLES)
        end_oldest(p);
    return begin_bundle(p, thread);
}

static void add_waiting(struct bundle *b, struct piece x)
{
    vec_push(&b->waiting, x);
    b->n_waiting += x.used;
}

/* End a bundle behind its first waiting buffers; the others are of a new one. */
static void split(struct process *p, struct bundle *b, size_t keep)
{
    if (b->first + keep < b->waiting.n) {
        end_bundle(p, b);
        struct bundle *to = open_bundle(p, b->thread);
        for (size_t i = b->first + keep; i < b->waiting.n; i++) {
            add_waiting(to, b->waiting.v[i]);
            b->n_waiting -= b->waiting.v[i].used;
        }
        b->waiting.n = b->first + keep;
    }
    end_bundle(p, b);
}

static bool is_divisible(const struct bundle *b)
{
    return b->taken && !b->ended && b->n_waiting >= SPLIT_WAITING &&
           b->n_packed + b->n_waiting / 2 >= SPLIT_LEAST && b->is_irregular;
}

/* The bundle whose first buffer waits longest, or that has nothing left but to become a chunk; NULL if there is none. */
static struct bundle *longest_waiting(const struct process *p)
{
    struct bundle *found = NULL;
    u64 turn = UINT64_MAX;
    for (size_t i = 0; i < p->bundles.all.n; i++) {
        struct bundle *b = p->bundles.all.v[i];
        bool waits = b->first < b->waiting.n;
        u64 since = waits ? b->waiting.v[b->first].turn : 0;
        if (!b->taken && (waits || b->ended) && since < turn) {
            found = b;
            turn = since;
        }
    }
    return found;
}

/* Something to do for a drain, or NULL. */
static struct bundle *pick(struct process *p)
{
    struct bundle *found = longest_waiting(p);
    if (found)
        return found;
    for (size_t i = 0; i < p->bundles.all.n; i++) {
        struct bundle *b = p->bundles.all.v[i];
        if (is_divisible(b)) {
            split(p, b, (b->waiting.n - b->first) / 2);
            return open_bundle(p, b->thread);
        }
    }
    return NULL;
}

/* Nothing of its thread is to be written before it. */
static bool is_next_of_thread(const struct process *p, const struct bundle *b)
{
    size_t i = 0;
    while (p->bundles.all.v[i]->thread != b->thread)
        i++;
    return p->bundles.all.v[i] == b;
}

static void forget(struct process *p, const struct bundle *b)
{
    size_t i = 0;
    while (p->bundles.all.v[i] != b)
        i++;
    for (p->bundles.all.n--; i < p->bundles.all.n; i++)
        p->bundles.all.v[i] = p->bundles.all.v[i + 1];
    pthread_cond_broadcast(&p->bundles.changed);
}

static bool is_old(const struct process *p, const struct bundle *b)
{
    double now = monotonic(), limit = MAX(least_age, (now - p->run->began) * age_share);
    return now - b->opened > limit;
}

/* -- Packing ------------------------------------------------------------------------------------ */

/* On a disk that is nearly full chunks are small, so that little is lost with the one that does not fit any more. */
static u64 limit_for_disk(struct run *r)
{
    struct statvfs s;
    if (fstatvfs(r->writer.store.fd, &s))
        return PACK_LIMIT;
    return MIN((u64)s.f_bavail * s.f_frsize / 8, (u64)PACK_LIMIT);
}

static struct pack *begin_pack(struct drain *d)
{
    struct process *p = d->process;
    struct pack *pack = d->spare ? d->spare : pack_new(translator_table(p->translator));
    d->spare = NULL;
    pack->limit = limit_for_disk(p->run);
    if (p->run->stress.scalar)
        pack_scalar(pack);
    return pack;
}

/* Records before a fault are packed; behind it nothing is, of any thread. */
static void pack_buffer(struct drain *d, struct bundle *b, const struct piece *x)
{
    struct process *p = d->process;
    if (!load_relaxed(&p->bundles.unpackable)) {
        if (!b->pack)
            b->pack = begin_pack(d);
        if (pack_records(b->pack, drain_buffer(p, x->buffer), x->used, &d->decode_error) < 0) {
            store_relaxed(&p->bundles.unpackable, true);
            d->undecodable = true;
        }
    }
    drain_give_back(p, x->buffer, x->used);
}

static int write_chunk(struct process *p, u32 thread, struct trace_press *x)
{
    struct run *r = p->run;
    if (modules_write(p, &r->write_error) < 0 ||
        trace_write_units(&r->writer, p->number, translator_table(p->translator), &r->write_error) <
            0)
        return -1;
    return trace_write_records(&r->writer, thread, x, &r->write_error);
}

static void wait_for_turn(struct process *p, const struct bundle *b)
{
    pthread_mutex_lock(&p->bundles.lock);
    while (!is_next_of_thread(p, b))
        pthread_cond_wait(&p->bundles.changed, &p->bundles.lock);
    pthread_mutex_unlock(&p->bundles.lock);
}

static void make_chunk(struct drain *d, struct bundle *b)
{
    struct process *p = d->process;
    struct run *r = p->run;
    trace_press(&d->press, b->pack);
    pack_clear(b->pack);
    pack_free(d->spare);
    d->spare = b->pack;
    wait_for_turn(p, b);
    pthread_mutex_lock(&r->writer_lock);
    if (!r->write_failed && write_chunk(p, b->thread, &d->press) < 0)
        r->write_failed = true;
    pthread_mutex_unlock(&r->writer_lock);
}

/* All of a bundle is packed, and it has ended. */
static void finish(struct drain *d, struct bundle *b)
{
    struct process *p = d->process;
    if (b->pack)
        make_chunk(d, b);
    pthread_mutex_lock(&p->bundles.lock);
    forget(p, b);
    pthread_mutex_unlock(&p->bundles.lock);
    vec_fini(&b->waiting);
    free(b);
}

/* The next buffer of the bundle that we have; false if there is none for now. */
static bool next_waiting(struct bundle *b, struct piece *x)
{
    if (b->first == b->waiting.n) {
        b->first = b->waiting.n = 0;
        return false;
    }
    *x = b->waiting.v[b->first++];
    b->n_waiting -= x->used;
    return true;
}

/* What is regular becomes a few bytes, however long it goes on, once its loops are known. */
static void judge(struct bundle *b)
{
    u64 made = b->pack->hand.shared.n_bytes;
    b->is_irregular = (made - b->made) * REGULAR > b->n_packed - b->judged;
    b->made = made;
    b->judged = b->n_packed;
}

static void note_packed(struct process *p, struct bundle *b, const struct piece *x)
{
    b->n_packed += x->used;
    if (!b->pack)
        return;
    if (b->n_packed - b->judged >= JUDGED)
        judge(b);
    if (pack_is_full(b->pack) && !b->ended)
        split(p, b, 0);
}

bool bundles_work(struct drain *d)
{
    struct process *p = d->process;
    struct piece x;
    pthread_mutex_lock(&p->bundles.lock);
    struct bundle *b = pick(p);
    if (!b) {
        pthread_mutex_unlock(&p->bundles.lock);
        return false;
    }
    b->taken = true;
    u32 n = 0;
    while (n++ < AT_ONCE && next_waiting(b, &x)) {
        pthread_mutex_unlock(&p->bundles.lock);
        pack_buffer(d, b, &x);
        pthread_mutex_lock(&p->bundles.lock);
        note_packed(p, b, &x);
    }
    bool finished = b->taken = b->ended && b->first == b->waiting.n;
    pthread_mutex_unlock(&p->bundles.lock);
    if (finished)
        finish(d, b);
    return true;
}

/* -- For the drain that takes buffers ----------------------------------------------------------- */

void bundles_add(struct process *p, u32 thread, u64 turn, u32 buffer, u32 used)
{
    pthread_mutex_lock(&p->bundles.lock);
    add_waiting(open_bundle(p, thread), (struct piece){turn + 1, buffer, used});
    pthread_mutex_unlock(&p->bundles.lock);
}

void bundles_end(struct process *p, bool all)
{
    pthread_mutex_lock(&p->bundles.lock);
    for (size_t i = 0; i < p->bundles.all.n; i++)
        if (all || is_old(p, p->bundles.all.v[i]))
            end_bundle(p, p->bundles.all.v[i]);
    pthread_mutex_unlock(&p->bundles.lock);
}

/* -- Begin and end ------------------------------------------------------------------------------ */

void bundles_init(struct process *p)
{
    check(pthread_mutex_init(&p->bundles.lock, NULL) == 0 &&
          pthread_mutex_init(&p->bundles.taking, NULL) == 0 &&
          pthread_cond_init(&p->bundles.changed, NULL) == 0);
}

static void *work_to_the_end(void *drain)
{
    while (bundles_work(drain))
        ;
    return NULL;
}

void bundles_finish(struct process *p)
{
    bundles_end(p, true);
    u32 n = (u32)MIN((size_t)p->n_drains, p->bundles.all.n);
    for (u32 i = 1; i < n; i++)
        check(pthread_create(&p->drains[i].thread, NULL, work_to_the_end, &p->drains[i]) == 0);
    work_to_the_end(&p->drains[0]);
    for (u32 i = 1; i < n; i++)
        pthread_join(p->drains[i].thread, NULL);
    vec_fini(&p->bundles.all);
    pthread_mutex_destroy(&p->bundles.lock);
    pthread_mutex_destroy(&p->bundles.taking);
    pthread_cond_destroy(&p->bundles.changed);
}
