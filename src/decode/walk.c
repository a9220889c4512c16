/* SPDX-License-Identifier: MIT */
/* Chunks of records, one after the other, through the decoder. */
#include "decode/walk.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

enum { DECODERS = 8 /* at a time */ };

void walk_init(struct walk *w, struct trace *t)
{
    *w = (struct walk){.trace = t};
    w->decoders = calloc(MAX(t->units.n, 1ul), sizeof *w->decoders);
    check(w->decoders != NULL);
    w->batch = malloc(sizeof *w->batch);
    check(w->batch != NULL);
}

void walk_where(struct walk *w, bool (*wants)(void *ctx, size_t piece), void *ctx)
{
    w->wants = wants;
    w->wants_ctx = ctx;
}

static void forget_decoders(struct walk *w)
{
    for (size_t i = 0; i < w->trace->units.n; i++) {
        if (w->decoders[i].table)
            decoder_fini(&w->decoders[i]);
        w->decoders[i] = (struct decoder){0};
    }
    w->n_decoders = 0;
}

void walk_fini(struct walk *w)
{
    forget_decoders(w);
    free(w->decoders);
    free(w->batch);
    if (w->ahead)
        ahead_free(w->ahead);
}

static int fault_at(const struct walk *w, u64 at, const char *what, struct err *e)
{
    const struct store_chunk *c = &w->trace->pieces.v[w->window.piece].chunk;
    return err_set(e, "%s: chunk %lu at offset %lu, record at byte %lu: %s", w->trace->store.path,
                   (unsigned long)c->sequence, (unsigned long)c->offset, (unsigned long)at, what);
}

int walk_fault(const struct walk *w, u32 i, const char *what, struct err *e)
{
    return fault_at(w, w->before + w->at + w->batch->record_at[i], what, e);
}

/* Where the decoder stopped with an error: behind the last record that it took. */
static int decode_fault(const struct walk *w, const char *what, struct err *e)
{
    const struct batch *b = w->batch;
    u64 at = w->next;
    if (b->n_records) {
        at += b->record_at[b->n_records - 1];
        at += RECORD_SLOTS_AT + 8ul * w->window.records[at];
    }
    return fault_at(w, w->before + at, what, e);
}

/* The decoder for the records just loaded: one for each unit table, made when it is needed. Those of a make -j2 of a
 * large project would not fit into memory together. */
static struct decoder *decoder_of(struct walk *w)
{
    struct decoder *d = &w->decoders[w->trace->pieces.v[w->window.piece].memory];
    if (!d->table) {
        if (w->n_decoders == DECODERS)
            forget_decoders(w);
        decoder_init(d, w->table, false);
        w->n_decoders++;
    }
    decoder_reset(d);
    return d;
}

void walk_window(struct walk *w, const struct relay_window *window, const u8 *records)
{
    w->given = true;
    w->window = (struct ahead_window){.piece = window->piece, .records = records, .size = window->size};
    w->before = window->before;
    w->next = 0;
    w->table = trace_table(w->trace, window->piece);
    w->decoder = decoder_of(w);
    w->decoder->carried = window->carried;
}

/* Make sure that there are records left in the window: 1, or 0 at the end of the trace, or -1. */
static int have_records(struct walk *w, struct err *e)
{
    if ((w->ahead || w->given) && w->next < w->window.size)
        return 1;
    if (w->given)
        return 0;
    if (!w->ahead)
        w->ahead = ahead_new(w->trace, ahead_threads(w->trace), w->wants, w->wants_ctx);
    w->before += w->window.size;
    int more = ahead_next(w->ahead, &w->window, e);
    if (more <= 0)
        return more;
    w->next = 0;
    if (w->window.begins) {
        w->before = 0;
        w->table = trace_table(w->trace, w->window.piece);
        w->decoder = decoder_of(w);
    }
    return 1;
}

/* Keep count of what was shown of a record that spans batches: it was not consumed. */
static void note_ends(struct walk *w, u64 used)
{
    const struct batch *b = w->batch;
    bool unfinished = b->n_records && b->record_at[b->n_records - 1] == used;
    w->events = (struct events){.table = w->table,
                                .batch = b,
                                .records = w->window.records + w->at,
                                .continues = w->events.unfinished,
                                .unfinished = unfinished,
                                .shown = w->shown};
    w->shown = unfinished ? events_shown(&w->events) : 0;
}

int walk_next(struct walk *w, struct err *e)
{
    int have = have_records(w, e);
    if (have <= 0)
        return have;
    bool ended = false;
    struct err cause;
    s64 used = decode_batch(w->decoder, w->window.records + w->next, w->window.size - w->next,
                            w->batch, &ended, &cause);
    if (used < 0)
        return decode_fault(w, cause.text, e);
    check(w->batch->n_records && !ended); /* what is unpacked is whole records */
    w->at = w->next;
    w->next += (size_t)used;
    note_ends(w, (u64)used);
    return 1;
}

u32 walk_thread(const struct walk *w)
{
    return w->trace->pieces.v[w->window.piece].chunk.owner;
}

u32 walk_process(const struct walk *w)
{
    return w->trace->pieces.v[w->window.piece].process;
}

u64 walk_slot(const struct walk *w, u32 i, u32 s)
{
    u64 x;
    memcpy(&x, w->window.records + w->at + w->batch->record_at[i] + RECORD_SLOTS_AT + 8 * s,
           sizeof x);
    return x;
}

const u8 *walk_record(const struct walk *w, u32 i, size_t *size)
{
    const u8 *record = w->window.records + w->at + w->batch->record_at[i];
    *size = RECORD_SLOTS_AT + 8ul * record[0];
    return record;
}

bool walk_ran(const struct walk *w, u32 i)
{
    u32 id = w->batch->exit[i];
    return id >= FIRST_EXIT_ID || id == RECORD_partial;
}

struct run_of walk_run(const struct walk *w, u32 i)
{
    u32 id = w->batch->exit[i];
    if (id == RECORD_partial) {
        struct partial p = partial_of(walk_slot(w, i, 0));
        return (struct run_of){p.unit, p.insns};
    }
    const struct unit_exit *x = &w->table->exits.v[id - FIRST_EXIT_ID];
    return (struct run_of){x->unit, x->insns};
}

struct share walk_share(const struct walk *w, u32 i)
{
    const struct batch *b = w->batch;
    struct share s = {0, walk_run(w, i).insns};
    if (i == 0 && w->events.continues)
        s.from = w->events.shown;
    if (i == b->n_records - 1 && w->events.unfinished)
        s.to = w->shown;
    return s;
}

const struct ref *walk_ref(const struct walk *w, u32 j, u32 *size)
{
    const struct batch *b = w->batch;
    u32 n = b->ref[j];
    if (n & BATCH_ODD) {
        n &= ~BATCH_ODD;
        *size = b->odd[n].size;
        return &w->table->refs.v[b->odd[n].ref];
    }
    *size = w->table->refs.v[n].size;
    return &w->table->refs.v[n];
}

void walk_count(const struct walk *w, struct trace_counts *n)
{
    const struct batch *b = w->batch;
    for (u32 i = 0; i < b->n_records; i++)
        n->syscalls += b->exit[i] == RECORD_syscall;
    n->instructions += b->insns;
    n->loads += b->loads;
    n->stores += b->stores;
    n->modifies += b->modifies;
    n->records += b->n_records - (w->events.continues && b->n_records);
    n->bytes += w->at == 0 && w->before == 0 && !w->events.continues ? w->window.head->bytes : 0;
}
