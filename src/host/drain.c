/* SPDX-License-Identifier: MIT */
/* The drain's thread: take published buffers in order, hand them to the sink, give them back zeroed.
 *
 * The program can write to a buffer while we read it. A buffer is input: it is checked as it is decoded, and what is
 * written to a file is a copy. */
#include "host/session.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPIN_PAUSES = 2000 };

/* -- Sinks ------------------------------------------------------------------------------------ */

static void count_batch(struct session *s)
{
    const struct batch *b = s->batch;
    struct trace_counts *n = &s->counts;
    n->instructions += b->insns;
    n->loads += b->loads;
    n->stores += b->stores;
    n->modifies += b->modifies;
    n->records += b->n_records - s->decoder.unfinished;
}

static void sink_decode(struct session *s, const u8 *data, u32 size)
{
    bool ended = false;
    for (u32 at = 0; at < size && !ended && !s->undecodable;) {
        s64 n = decode_batch(&s->decoder, data + at, size - at, s->batch, &ended, &s->decode_error);
        if (n < 0)
            s->undecodable = true;
        else
            at += (u32)n;
        if (n >= 0)
            count_batch(s);
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

static void sink(struct session *s, u32 thread, const u8 *data, u32 size)
{
    s->record_bytes += size;
    if (s->options->sink == SINK_decode)
        sink_decode(s, data, size);
    else if (s->options->sink == SINK_file)
        sink_file(s, thread, data, size);
}

/* -- Buffers ---------------------------------------------------------------------------------- */

static u8 *buffer(struct session *s, u32 i)
{
    return s->wire + WIRE_BUF_OFF + (u64)i * s->control->buffer_size;
}

static void give_back(struct session *s, u32 i, u32 used)
{
    struct control *c = s->control;
    memset(buffer(s, i), 0, used);
    store_relaxed(&c->owner[i], 0);
    __atomic_fetch_or(&c->free, 1ull << i, __ATOMIC_RELEASE);
    __atomic_fetch_add(&c->free_bell, 1, __ATOMIC_SEQ_CST);
    if (load_relaxed(&c->guest_waits))
        syscall(SYS_futex, &c->free_bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Take the next buffer from the ring; false if none is published. */
static bool drain_one(struct session *s)
{
    struct control *c = s->control;
    u64 x = load_acquire(&c->ring[s->drained % BUFFER_COUNT_LIMIT]);
    u32 i = (u32)(x & 0xff);
    if (x >> 8 != s->drained + 1 || i >= c->buffer_count)
        return false;
    u32 used = MIN(load_relaxed(&c->length[i]), c->buffer_size);
    sink(s, load_relaxed(&c->owner[i]) - 1, buffer(s, i), used);
    s->drained++;
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
    __atomic_store_n(&c->drain_sleeps, 1, __ATOMIC_SEQ_CST);
    if (load_acquire(&c->drain_bell) == seen && !load_acquire(&s->stopping))
        syscall(SYS_futex, &c->drain_bell, FUTEX_WAIT, seen, &limit, NULL, 0);
    store_relaxed(&c->drain_sleeps, 0);
}

void *drain_main(void *session)
{
    struct session *s = session;
    while (!load_acquire(&s->stopping)) {
        u32 seen = load_acquire(&s->control->drain_bell);
        if (!drain_one(s))
            wait_for_buffers(s, seen);
    }
    return NULL;
}

/* The records end where a zero header stands: buffers are handed out zeroed, and a header is written last. */
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
void drain_rest(struct session *s)
{
    struct control *c = s->control;
    while (drain_one(s))
        ;
    for (u32 i = 0; i < c->buffer_count; i++) {
        u32 owner = load_relaxed(&c->owner[i]);
        if (!owner || (c->free >> i & 1))
            continue;
        u32 used = used_part(buffer(s, i), c->buffer_size);
        if (used)
            sink(s, owner - 1, buffer(s, i), used);
    }
}
