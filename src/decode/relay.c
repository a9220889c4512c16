/* SPDX-License-Identifier: MIT */
/* One chunk is unpacked, window by window, by whoever comes for the next; another is loaded meanwhile by whoever comes first. */
#include "decode/relay.h"
#include "wire/wire.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A chunk that is loaded. */
struct source {
    size_t piece;
    struct store_bytes packed;
    struct unpack unpack;
    bool open; /* the unpack is */
    int status;
    struct err err;
};

struct relay {
    struct trace *trace;
    pthread_mutex_t lock;   /* guards what follows; but for a source that is being loaded */
    pthread_cond_t changed; /* that has been done */
    struct source sources[2];
    struct source *now, *next; /* NULL: none */
    size_t claimed;            /* chunks that somebody has begun to load */
    bool loading;
    bool over; /* there is nothing more, or nothing more that could be read */
    u64 turn, before;
    struct carried carried;
};

/* -- Loading ----------------------------------------------------------------------------------- */

static int source_open(struct relay *r, struct source *s)
{
    const struct trace_piece *p = &r->trace->pieces.v[s->piece];
    struct store_reader reader;
    store_reader_share(&reader, &r->trace->store);
    int status = store_load(&reader, &p->chunk, &s->packed, &s->err);
    store_reader_unshare(&reader);
    if (status)
        return -1;
    const char *fault = unpack_begin(&s->unpack, trace_table(r->trace, s->piece), p->n_exits,
                                     s->packed.v, s->packed.n);
    s->open = true;
    if (!fault && p->has_head && memcmp(&p->head, &s->unpack.head, sizeof p->head))
        fault = "has another head than the index says";
    return fault ? trace_fault(r->trace, s->piece, fault, &s->err) : 0;
}

static void source_close(struct source *s)
{
    if (s->open)
        unpack_end(&s->unpack);
    s->open = false;
}

/* Load the next chunk, if there is one and nobody does. With the lock held, which is let go meanwhile. */
static void load_next(struct relay *r)
{
    if (r->next || r->loading || r->claimed == r->trace->pieces.n)
        return;
    struct source *s = &r->sources[r->now == &r->sources[0]];
    s->piece = r->claimed++;
    r->loading = true;
    pthread_mutex_unlock(&r->lock);
    s->status = source_open(r, s);
    pthread_mutex_lock(&r->lock);
    r->loading = false;
    r->next = s;
    pthread_cond_broadcast(&r->changed);
}

/* Go on to the next chunk; false if there is none. With the lock held. */
static bool move_on(struct relay *r)
{
    if (r->now)
        source_close(r->now);
    r->now = NULL;
    while (!r->now && !r->next && (r->loading || r->claimed < r->trace->pieces.n)) {
        load_next(r);
        if (!r->next)
            pthread_cond_wait(&r->changed, &r->lock);
    }
    if (r->now)
        return true; /* another thread has, while this one waited */
    if (!r->next)
        return false;
    r->now = r->next;
    r->next = NULL;
    r->before = 0;
    r->carried = (struct carried){0};
    return true;
}

/* -- Windows ----------------------------------------------------------------------------------- */

static struct carried carried_by_guest(u32 header, const u8 *slots, struct carried c)
{
    if (!record_is_state(header >> RECORD_ID_SHIFT) ||
        (header & RECORD_SLOT_LIMIT) < RECORD_state_slots)
        return c;
    return (struct carried){.rsp = carried_term(&c, slots, 0),
                            .fs = carried_term(&c, slots, 1),
                            .gs = carried_term(&c, slots, 2),
                            .known = true};
}

/* What these records carry on. Unpacked records are whole, and name exits that there are. */
static struct carried carried_over(const struct unit_table *t, const u8 *records, size_t size,
                                   struct carried c)
{
    u32 header;
    for (size_t at = 0; at < size; at += RECORD_SLOTS_AT + 8 * (size_t)(header & RECORD_SLOT_LIMIT)) {
        memcpy(&header, records + at, sizeof header);
        u32 id = header >> RECORD_ID_SHIFT;
        const u8 *slots = records + at + RECORD_SLOTS_AT;
        if (id >= FIRST_EXIT_ID)
            c.rsp = carried_rsp(&c, &t->exits.v[id - FIRST_EXIT_ID], slots);
        else
            c = carried_by_guest(header, slots, c);
    }
    return c;
}

/* The next records of the present chunk: 1, 0 if it has no more, -1. */
static int unpack_window(struct relay *r, struct relay_window *w, u8 *records, struct err *e)
{
    const char *fault;
    struct source *s = r->now;
    if (s->status) {
        *e = s->err;
        return -1;
    }
    s64 n = unpack_some(&s->unpack, records, RELAY_WINDOW, &fault);
    if (n < 0)
        return trace_fault(r->trace, s->piece, fault, e);
    if (n == 0)
        return 0;
    *w = (struct relay_window){r->turn++, s->piece, r->before, r->carried, (size_t)n};
    r->before += (u64)n;
    r->carried = carried_over(trace_table(r->trace, s->piece), records, (size_t)n, r->carried);
    return 1;
}

int relay_next(struct relay *r, struct relay_window *w, u8 *records, struct err *e)
{
    int more = 0;
    pthread_mutex_lock(&r->lock);
    if (r->now)
        load_next(r);
    while (!r->over && !more) {
        more = r->now ? unpack_window(r, w, records, e) : 0;
        if (!more)
            r->over = !move_on(r);
    }
    r->over |= more < 0;
    pthread_mutex_unlock(&r->lock);
    return more;
}

/* -- Begin and end ----------------------------------------------------------------------------- */

struct relay *relay_new(struct trace *t)
{
    struct relay *r = calloc(1, sizeof *r);
    check(r && pthread_mutex_init(&r->lock, NULL) == 0 &&
          pthread_cond_init(&r->changed, NULL) == 0);
    r->trace = t;
    return r;
}

void relay_free(struct relay *r)
{
    for (u32 i = 0; i < ARRAY_LEN(r->sources); i++) {
        source_close(&r->sources[i]);
        vec_fini(&r->sources[i].packed);
    }
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
    free(r);
}
