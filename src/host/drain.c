/* SPDX-License-Identifier: MIT */
/* The drain's thread: take published buffers in order, hand them to the sink, give them back
 * zeroed.
 *
 * The program can write to a buffer while we read it. A buffer is input: it is checked as it is decoded
 * or packed. */
#include "host/process.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPIN_YIELDS = 120, SPIN_PAUSES = 50, NAP_NS = 1000000, SLEEP_NS = 100000000 };

/* -- Sinks ------------------------------------------------------------------------------------ */

static void count_batch(struct drain *d)
{
    const struct batch *b = d->batch;
    struct trace_counts *n = &d->counts;
    n->instructions += b->insns;
    n->loads += b->loads;
    n->stores += b->stores;
    n->modifies += b->modifies;
    n->records += b->n_records - d->decoder.unfinished;
}

/* Who looks at the events of a buffer; each may be NULL. */
struct watchers {
    struct digest *digest;
    const struct analyst *analyst;
    void *buffer; /* the analyst's */
};

/* Decode and count, and let them look. */
static void sink_decode(struct drain *d, const u8 *data, u32 size, const struct watchers *w)
{
    struct events e = {.table = d->decoder.table, .batch = d->batch};
    bool ended = false;
    decoder_reset(&d->decoder);
    for (u32 at = 0; at < size && !ended && !d->undecodable;) {
        s64 n = decode_batch(&d->decoder, data + at, size - at, d->batch, &ended, &d->decode_error);
        if (n == 0 && !ended && !d->batch->n_records)
            n = err_set(&d->decode_error, "a record is cut off"); /* no room even for a header */
        if (n < 0) {
            d->undecodable = true;
            return;
        }
        count_batch(d);
        e.records = data + at;
        e.unfinished = d->decoder.unfinished;
        if (w->digest)
            digest_batch(w->digest, &e);
        if (w->analyst)
            w->analyst->batch(w->buffer, &e);
        at += (u32)n;
        e.shown = e.unfinished ? events_shown(&e) : 0;
        e.continues = e.unfinished;
    }
}

/* Who filled a buffer, as it says itself; from then on it is ours. */
struct owner {
    u32 number, tid, pid;
};

static struct owner take_over(const struct process *p, u32 i)
{
    struct control *c = p->control;
    struct owner o = {load_relaxed(&c->owner[i].number) - 1, load_relaxed(&c->owner[i].tid), load_relaxed(&c->owner[i].pid)};
    store_relaxed(&c->owner[i].number, 0);
    return o;
}

/* The thread of the trace that filled a buffer. */
struct filler {
    u32 thread;
    struct track *track; /* if its records go to the file, and NULL if they cannot */
};

/* Without a file several drains may be here, and a track may move as soon as the lock is given back: then only the number is told. */
static struct filler filler_of(struct drain *d, const struct owner *o)
{
    struct process *p = d->process;
    struct run *r = p->run;
    struct filler f = {0};
    pthread_mutex_lock(&r->writer_lock);
    struct track *t = tracks_thread(p, o->number, o->tid, o->pid);
    if (!t && r->writer_open) { /* what can no longer be written can still be looked at */
        r->write_failed = true;
        t = tracks_thread(p, o->number, o->tid, o->pid);
    }
    if (!t && !d->undecodable) {
        d->undecodable = true;
        d->decode_error = r->write_error;
    }
    f.thread = t ? t->thread : 0;
    if (r->options->sink == SINK_file && !r->write_failed)
        f.track = t;
    pthread_mutex_unlock(&r->writer_lock);
    return f;
}

/* A buffer that was taken from the ring, or is found when the program has ended. */
struct taken {
    u64 turn;
    struct owner owner;
    u32 buffer, used;
};

static void sink(struct drain *d, const struct taken *x)
{
    struct process *p = d->process;
    const u8 *data = drain_buffer(p, x->buffer);
    const struct run_options *options = p->run->options;
    const struct analyst *a = options->analyst;
    struct watchers w = {.analyst = a};
    struct filler f = {0};
    __atomic_fetch_add(&p->record_bytes, x->used, __ATOMIC_RELAXED);
    if (a || options->sink == SINK_file)
        f = filler_of(d, &x->owner);
    if (f.track && p->run->stress.digest)
        w.digest = &f.track->digest;
    if (a) /* each turn is taken, whatever is in it: those behind it wait for that */
        w.buffer = a->open(p->analysed, x->turn, f.thread);
    if (options->sink == SINK_decode || w.digest || a)
        sink_decode(d, data, x->used, &w);
    if (a)
        a->close(w.buffer);
    if (f.track)
        bundles_add(p, f.thread, x->turn, x->buffer, x->used);
    else
        drain_give_back(p, x->buffer, x->used);
}

/* -- Buffers ---------------------------------------------------------------------------------- */

u8 *drain_buffer(struct process *p, u32 i)
{
    return p->wire + WIRE_BUF_OFF + (u64)i * p->buffer_size;
}

/* Waiting threads are woken when they can run for a while: a wake-up costs a core as much as a small
 * buffer does. */
static bool worth_waking(const struct control *c)
{
    u64 on_their_way = load_relaxed(&c->published) - load_relaxed(&c->returned);
    return load_relaxed(&c->guest_waits) && on_their_way * 4 <= (u64)c->window * 3;
}

void drain_give_back(struct process *p, u32 i, u32 used)
{
    struct control *c = p->control;
    memset(drain_buffer(p, i), 0, used);
    __atomic_fetch_or(&c->free[i / 64], 1ull << (i % 64), __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&c->returned, 1, __ATOMIC_SEQ_CST);
    if (worth_waking(c)) {
        __atomic_fetch_add(&c->free_bell, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &c->free_bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}

/* The references in a buffer, as its exits tell; those of rep instructions count once. */
static void count_refs(struct process *p, const u8 *data, u32 size)
{
    const struct unit_table *t = translator_table(p->translator);
    size_t units = load_acquire(&t->units.n);
    u32 exits = units ? t->units.v[units - 1].exit0 + t->units.v[units - 1].n_exits : 0, header;
    u64 n = 0;
    for (u32 at = 0; at + RECORD_SLOTS_AT <= size; at += RECORD_SLOTS_AT + 8 * (header & 0xff)) {
        memcpy(&header, data + at, 4);
        u32 exit = (header >> RECORD_ID_SHIFT) - FIRST_EXIT_ID;
        n += exit < exits ? t->exits.v[exit].refs : 0;
    }
    __atomic_fetch_add(&p->run->refs, n, __ATOMIC_RELAXED);
}

/* Take the next buffer from the ring; false if none is published. */
static bool drain_one(struct drain *d)
{
    struct process *p = d->process;
    struct control *c = p->control;
    u64 turn = load_acquire(&p->taken);
    u64 x = load_acquire(&c->ring[turn % BUFFER_RING]);
    u32 i = (u32)(x & 0xffff);
    if (x >> 16 != turn + 1 || i >= p->n_buffers)
        return load_acquire(&p->taken) != turn; /* another drain was faster: look again */
    if (!__atomic_compare_exchange_n(&p->taken, &turn, turn + 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return true;
    if (p->run->stress.lazy)
        usleep(20000);
    u32 length = load_relaxed(&c->length[i]), used = MIN(length, p->buffer_size);
    if (length > p->buffer_size && !d->undecodable) {
        d->undecodable = true;
        err_set(&d->decode_error, "a thread wrote beyond the end of its buffer");
    }
    if (p->run->options->max_refs)
        count_refs(p, drain_buffer(p, i), used);
    heat_look(p, drain_buffer(p, i), used);
    sink(d, &(struct taken){turn, take_over(p, i), i, used});
    return true;
}

/* For a file, buffers are taken by one drain at a time, in their order, and packed by all. False if there is nothing to do. */
static bool drain_some(struct drain *d)
{
    struct process *p = d->process;
    bool took = false;
    if (p->run->options->sink != SINK_file)
        return drain_one(d);
    if (pthread_mutex_trylock(&p->bundles.taking) == 0) {
        while (drain_one(d))
            took = true;
        bundles_end(p, false);
        pthread_mutex_unlock(&p->bundles.taking);
    }
    return bundles_work(d) || took;
}

/* A drain that has just worked waits a while for more, but not on a core that somebody needs, the program above all, which is to make it; then it naps: to be woken for every buffer would cost the program more than it costs to fill one. When nothing
 * has come for a while it sleeps, and the first buffer wakes it. */
static void wait_for_buffers(struct process *p, u32 seen, bool has_worked)
{
    struct control *c = p->control;
    struct timespec limit = {0, has_worked ? NAP_NS : SLEEP_NS};
    for (int i = 0; has_worked && i < SPIN_YIELDS; i++) {
        for (int k = 0; k < SPIN_PAUSES; k++) {
            if (load_relaxed(&c->drain_bell) != seen)
                return;
            __builtin_ia32_pause();
        }
        sched_yield();
    }
    store_relaxed(&c->drain_wants, has_worked ? 3 : 1);
    __atomic_fetch_add(&c->drain_sleeps, 1, __ATOMIC_SEQ_CST);
    if (load_acquire(&c->drain_bell) == seen && !load_acquire(&p->stopping))
        syscall(SYS_futex, &c->drain_bell, FUTEX_WAIT, seen, &limit, NULL, 0);
    __atomic_fetch_sub(&c->drain_sleeps, 1, __ATOMIC_SEQ_CST);
}

static void *drain_main(void *drain)
{
    struct drain *d = drain;
    struct process *p = d->process;
    bool has_worked = false;
    budget_yield(p, false);
    while (!load_acquire(&p->stopping)) {
        u32 seen = load_acquire(&p->control->drain_bell);
        if (drain_some(d)) {
            has_worked = true;
            continue;
        }
        wait_for_buffers(p, seen, has_worked);
        has_worked = false;
    }
    return NULL;
}

/* -- Begin and end ---------------------------------------------------------------------------- */

/* Buffers decode and pack alone, so as many threads may do so as there are cores. */
static u32 drains_of(const struct run_options *o)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (o->analyst && o->sink != SINK_file)
        return o->analyst->threads;
    return o->sink != SINK_drop ? (u32)MAX(1, MIN(cores, 8)) : 1;
}

void drain_begin(struct process *p)
{
    const struct analyst *a = p->run->options->analyst;
    p->n_drains = drains_of(p->run->options);
    if (a)
        p->analysed = a->begin(a->ctx, p->number, translator_table(p->translator), modules_mapped(p));
    p->drains = calloc(p->n_drains, sizeof *p->drains);
    check(p->drains != NULL);
    bundles_init(p);
    for (u32 i = 0; i < p->n_drains; i++) {
        struct drain *d = &p->drains[i];
        d->process = p;
        d->batch = malloc(sizeof *d->batch);
        check(d->batch != NULL);
        decoder_init(&d->decoder, translator_table(p->translator), p->run->stress.scalar);
        check(pthread_create(&d->thread, NULL, drain_main, d) == 0);
    }
}

/* The records end where a zero header stands: buffers are handed out zeroed, and a header is
 * written last. */
static u32 used_part(const u8 *data, u32 size)
{
    u32 at = 0;
    while (at + RECORD_SLOTS_AT <= size) {
        u32 header;
        memcpy(&header, data + at, 4);
        u32 length = RECORD_SLOTS_AT + 8 * (header & 0xff);
        if (header >> RECORD_ID_SHIFT == 0 || at + length > size)
            break;
        at += length;
    }
    return at;
}

/* After the program's end: what is in the ring, then the buffers it still held. */
static void drain_rest(struct drain *d)
{
    struct process *p = d->process;
    struct control *c = p->control;
    while (drain_one(d))
        ;
    for (u32 i = 0; i < p->n_buffers; i++) {
        struct owner owner = take_over(p, i);
        if (owner.number == UINT32_MAX || (c->free[i / 64] >> (i % 64) & 1))
            continue;
        u32 used = used_part(drain_buffer(p, i), p->buffer_size);
        if (used)
            sink(d, &(struct taken){p->taken++, owner, i, used});
    }
}

static void collect(struct process *p, const struct drain *d)
{
    struct trace_counts *n = &p->run->result->counts;
    n->instructions += d->counts.instructions;
    n->loads += d->counts.loads;
    n->stores += d->counts.stores;
    n->modifies += d->counts.modifies;
    n->records += d->counts.records;
}

void drain_end(struct process *p)
{
    for (u32 i = 0; i < p->n_drains; i++)
        pthread_join(p->drains[i].thread, NULL);
    drain_rest(&p->drains[0]);
    bundles_finish(p);
    if (p->analysed)
        p->run->options->analyst->end(p->analysed, p->modules.v, p->modules.n);
    p->analysed = NULL;
    for (size_t i = 0; i < p->tracks.n; i++)
        p->run->result->digest += digest_of_thread(p->tracks.v[i].thread, &p->tracks.v[i].digest);
    for (u32 i = 0; i < p->n_drains; i++) {
        collect(p, &p->drains[i]);
        pack_free(p->drains[i].spare);
        trace_press_fini(&p->drains[i].press);
        decoder_fini(&p->drains[i].decoder);
        free(p->drains[i].batch);
    }
}
