/* SPDX-License-Identifier: MIT */
/* The drain's thread: take published buffers in order, hand them to the sink, give them back
 * zeroed.
 *
 * The program can write to a buffer while we read it. A buffer is input: it is checked as it is
 * decoded, and what is written to a file is a copy. */
#include "host/session.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPIN_PAUSES = 2000 };

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

static void sink_decode(struct drain *d, const u8 *data, u32 size)
{
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
        at += (u32)n;
        count_batch(d);
    }
}

static void sink_file(struct session *s, u32 thread, const u8 *data, u32 size)
{
    if (s->write_failed)
        return;
    if (modules_write(s, &s->write_error) < 0 ||
        trace_write_units(&s->writer, translator_table(s->translator), &s->write_error) < 0 ||
        trace_write_records(&s->writer, thread, data, size, &s->write_error) < 0)
        s->write_failed = true;
}

static void sink(struct drain *d, u32 thread, const u8 *data, u32 size)
{
    struct session *s = d->session;
    __atomic_fetch_add(&s->record_bytes, size, __ATOMIC_RELAXED);
    if (s->options->sink == SINK_decode)
        sink_decode(d, data, size);
    else if (s->options->sink == SINK_file)
        sink_file(s, thread, data, size);
}

/* -- Buffers ---------------------------------------------------------------------------------- */

static u8 *buffer(struct session *s, u32 i)
{
    return s->wire + WIRE_BUF_OFF + (u64)i * s->buffer_size;
}

/* Waiting threads are woken when they can run for a while: a wake-up costs a core as much as a small
 * buffer does. */
static bool worth_waking(const struct control *c)
{
    u64 on_their_way = load_relaxed(&c->published) - load_relaxed(&c->returned);
    return load_relaxed(&c->guest_waits) && on_their_way * 4 <= (u64)c->window * 3;
}

static void give_back(struct session *s, u32 i, u32 used)
{
    struct control *c = s->control;
    memset(buffer(s, i), 0, used);
    store_relaxed(&c->owner[i], 0);
    __atomic_fetch_or(&c->free[i / 64], 1ull << (i % 64), __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&c->returned, 1, __ATOMIC_SEQ_CST);
    if (worth_waking(c)) {
        __atomic_fetch_add(&c->free_bell, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &c->free_bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}

/* Take the next buffer from the ring; false if none is published. */
static bool drain_one(struct drain *d)
{
    struct session *s = d->session;
    struct control *c = s->control;
    u64 turn = load_acquire(&s->taken);
    u64 x = load_acquire(&c->ring[turn % BUFFER_RING]);
    u32 i = (u32)(x & 0xffff);
    if (x >> 16 != turn + 1 || i >= s->n_buffers)
        return load_acquire(&s->taken) != turn; /* another drain was faster: look again */
    if (!__atomic_compare_exchange_n(&s->taken, &turn, turn + 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return true;
    u32 length = load_relaxed(&c->length[i]), used = MIN(length, s->buffer_size);
    if (length > s->buffer_size && !d->undecodable) {
        d->undecodable = true;
        err_set(&d->decode_error, "a thread wrote beyond the end of its buffer");
    }
    sink(d, load_relaxed(&c->owner[i]) - 1, buffer(s, i), used);
    give_back(s, i, used);
    return true;
}

static void wait_for_buffers(struct session *s, u32 seen)
{
    struct control *c = s->control;
    struct timespec limit = {0, 100000000};
    for (int i = 0; i < SPIN_PAUSES; i++) {
        if (load_relaxed(&c->drain_bell) != seen)
            return;
        __builtin_ia32_pause();
    }
    __atomic_fetch_add(&c->drain_sleeps, 1, __ATOMIC_SEQ_CST);
    if (load_acquire(&c->drain_bell) == seen && !load_acquire(&s->stopping))
        syscall(SYS_futex, &c->drain_bell, FUTEX_WAIT, seen, &limit, NULL, 0);
    __atomic_fetch_sub(&c->drain_sleeps, 1, __ATOMIC_SEQ_CST);
}

static void *drain_main(void *drain)
{
    struct drain *d = drain;
    struct session *s = d->session;
    while (!load_acquire(&s->stopping)) {
        u32 seen = load_acquire(&s->control->drain_bell);
        if (!drain_one(d))
            wait_for_buffers(s, seen);
    }
    return NULL;
}

/* -- Begin and end ---------------------------------------------------------------------------- */

/* Buffers decode alone, so as many threads may decode as there are cores; a file has one writer. */
void drain_begin(struct session *s)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    s->n_drains = s->options->sink == SINK_decode ? (u32)MAX(1, MIN(cores, 8)) : 1;
    s->drains = calloc(s->n_drains, sizeof *s->drains);
    check(s->drains != NULL);
    for (u32 i = 0; i < s->n_drains; i++) {
        struct drain *d = &s->drains[i];
        d->session = s;
        d->batch = malloc(sizeof *d->batch);
        check(d->batch != NULL);
        decoder_init(&d->decoder, translator_table(s->translator), s->stress.scalar);
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
    struct session *s = d->session;
    struct control *c = s->control;
    while (drain_one(d))
        ;
    for (u32 i = 0; i < s->n_buffers; i++) {
        u32 owner = load_relaxed(&c->owner[i]);
        if (!owner || (c->free[i / 64] >> (i % 64) & 1))
            continue;
        u32 used = used_part(buffer(s, i), s->buffer_size);
        if (used)
            sink(d, owner - 1, buffer(s, i), used);
    }
}

static void collect(struct session *s, const struct drain *d)
{
    struct trace_counts *n = &s->result->counts;
    n->instructions += d->counts.instructions;
    n->loads += d->counts.loads;
    n->stores += d->counts.stores;
    n->modifies += d->counts.modifies;
    n->records += d->counts.records;
}

void drain_end(struct session *s)
{
    for (u32 i = 0; i < s->n_drains; i++)
        pthread_join(s->drains[i].thread, NULL);
    drain_rest(&s->drains[0]);
    for (u32 i = 0; i < s->n_drains; i++) {
        collect(s, &s->drains[i]);
        decoder_fini(&s->drains[i].decoder);
        free(s->drains[i].batch);
    }
}
