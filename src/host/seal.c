/* SPDX-License-Identifier: MIT */
/* The sealers: threads that make chunks of what the drains have packed, and write them.
 *
 * A drain only sorts slots into columns, so that buffers go back to the program quickly. Folding, storing and compressing the
 * columns is done here, by one thread for every two cores; chunks go to the file in the order in which they were handed
 * over, since those of one thread must stay in order. */
#include "host/process.h"

#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    OPEN_PACKS = 64, /* of one process; more threads than this take turns */
    WAITING_LIMIT =
        3 /* packs handed over and not yet begun; then the drains wait, and the program with them */
};
/* Records wait at most so long to be sealed: what is not is lost if gait is killed. A regular program's chunk may hold
 * the whole run in a few bytes, so the longer a run lasts, the longer its chunks may. */
static const double least_age = 2.0, age_share = 1.0 / 8;

/* -- Making chunks ------------------------------------------------------------------------------ */

static int write_chunk(struct process *p, u32 thread, struct trace_press *x)
{
    struct run *r = p->run;
    if (modules_write(p, &r->write_error) < 0 ||
        trace_write_units(&r->writer, p->number, translator_table(p->translator), &r->write_error) <
            0)
        return -1;
    return trace_write_records(&r->writer, thread, x, &r->write_error);
}

/* Wait until all jobs before this one are in the file. */
static void wait_for_turn(struct run *r, u64 turn)
{
    pthread_mutex_lock(&r->seal.lock);
    while (r->seal.written != turn)
        pthread_cond_wait(&r->seal.changed, &r->seal.lock);
    pthread_mutex_unlock(&r->seal.lock);
}

static void end_turn(struct run *r, struct process *p)
{
    pthread_mutex_lock(&r->seal.lock);
    r->seal.written++;
    p->sealing--;
    pthread_cond_broadcast(&r->seal.changed);
    pthread_mutex_unlock(&r->seal.lock);
}

static void make_chunk(struct run *r, const struct seal_job *j, struct trace_press *x)
{
    trace_press(x, j->pack);
    pack_free(j->pack);
    wait_for_turn(r, j->turn);
    pthread_mutex_lock(&r->writer_lock);
    if (!r->write_failed && write_chunk(j->process, j->thread, x) < 0)
        r->write_failed = true;
    pthread_mutex_unlock(&r->writer_lock);
    end_turn(r, j->process);
}

/* The next job; false when there will be none. */
static bool take_job(struct run *r, struct seal_job *j)
{
    pthread_mutex_lock(&r->seal.lock);
    while (!r->seal.jobs.n && !r->seal.stopping)
        pthread_cond_wait(&r->seal.changed, &r->seal.lock);
    bool more = r->seal.jobs.n > 0;
    if (more) {
        *j = r->seal.jobs.v[0];
        r->seal.jobs.n--;
        for (size_t i = 0; i < r->seal.jobs.n; i++)
            r->seal.jobs.v[i] = r->seal.jobs.v[i + 1];
        pthread_cond_broadcast(&r->seal.changed);
    }
    pthread_mutex_unlock(&r->seal.lock);
    return more;
}

static void *seal_main(void *run)
{
    struct trace_press x = {0};
    struct seal_job j;
    while (take_job(run, &j)) {
        budget_yield(j.process, false);
        make_chunk(run, &j, &x);
    }
    trace_press_fini(&x);
    return NULL;
}

/* -- For the drains ----------------------------------------------------------------------------- */

void seal_track(struct process *p, struct track *t)
{
    struct run *r = p->run;
    pthread_mutex_lock(&r->seal.lock);
    while (r->seal.jobs.n >= WAITING_LIMIT)
        pthread_cond_wait(&r->seal.changed, &r->seal.lock);
    struct seal_job j = {p, t->thread, t->pack, r->seal.handed++};
    vec_push(&r->seal.jobs, j);
    p->sealing++;
    pthread_cond_broadcast(&r->seal.changed);
    pthread_mutex_unlock(&r->seal.lock);
    t->pack = NULL;
    p->open_packs--;
}

static void seal_oldest(struct process *p)
{
    struct track *oldest = NULL;
    for (size_t i = 0; i < p->tracks.n; i++) {
        struct track *t = &p->tracks.v[i];
        if (t->pack && (!oldest || t->opened < oldest->opened))
            oldest = t;
    }
    seal_track(p, oldest);
}

/* On a disk that is nearly full chunks are small, so that little is lost with the one that does not fit any more. */
static u64 limit_for_disk(struct run *r)
{
    struct statvfs s;
    if (fstatvfs(r->writer.store.fd, &s))
        return PACK_LIMIT;
    return MIN((u64)s.f_bavail * s.f_frsize / 8, (u64)PACK_LIMIT);
}

void seal_open(struct process *p, struct track *t)
{
    if (p->open_packs == OPEN_PACKS)
        seal_oldest(p);
    t->pack = pack_new(translator_table(p->translator));
    t->pack->limit = limit_for_disk(p->run);
    if (p->run->stress.scalar)
        pack_scalar(t->pack);
    t->opened = monotonic();
    p->open_packs++;
}

bool seal_is_due(const struct process *p, const struct track *t)
{
    double now = monotonic(), limit = MAX(least_age, (now - p->run->began) * age_share);
    return pack_is_full(t->pack) || now - t->opened > limit;
}

void seal_due(struct process *p)
{
    for (size_t i = 0; p->open_packs && i < p->tracks.n; i++)
        if (p->tracks.v[i].pack && seal_is_due(p, &p->tracks.v[i]))
            seal_track(p, &p->tracks.v[i]);
}

void seal_rest(struct process *p)
{
    struct run *r = p->run;
    for (size_t i = 0; i < p->tracks.n; i++)
        if (p->tracks.v[i].pack)
            seal_track(p, &p->tracks.v[i]);
    pthread_mutex_lock(&r->seal.lock);
    while (p->sealing)
        pthread_cond_wait(&r->seal.changed, &r->seal.lock);
    pthread_mutex_unlock(&r->seal.lock);
}

/* -- Begin and end ------------------------------------------------------------------------------ */

void seal_begin(struct run *r)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    check(pthread_mutex_init(&r->seal.lock, NULL) == 0 &&
          pthread_cond_init(&r->seal.changed, NULL) == 0);
    if (!r->writer_open)
        return;
    r->seal.n_threads = (u32)MAX(1, MIN(cores / 2, SEALERS));
    for (u32 i = 0; i < r->seal.n_threads; i++)
        check(pthread_create(&r->seal.threads[i], NULL, seal_main, r) == 0);
}

void seal_end(struct run *r)
{
    pthread_mutex_lock(&r->seal.lock);
    r->seal.stopping = true;
    pthread_cond_broadcast(&r->seal.changed);
    pthread_mutex_unlock(&r->seal.lock);
    for (u32 i = 0; i < r->seal.n_threads; i++)
        pthread_join(r->seal.threads[i], NULL);
    vec_fini(&r->seal.jobs);
    pthread_mutex_destroy(&r->seal.lock);
    pthread_cond_destroy(&r->seal.changed);
}
