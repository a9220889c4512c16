/* SPDX-License-Identifier: MIT */
/* A ring of streams, one for each chunk on its way; in each a ring of windows. A thread claims the next chunk, fills windows
 * while there is room, and then claims another; the reader takes windows from the first stream until that has ended.
 * With few bytes there are no threads, and the reader does their work. */
#include "decode/ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WINDOW = 256 << 10, /* bytes */
    WINDOWS = 8,        /* of a stream */
    THREADS = 8,
    STREAMS = THREADS + 2,
    SMALL =
        1 << 20, /* bytes of all chunks together, before they are unpacked: not worth a thread */
};

struct stream {
    size_t piece;
    struct store_bytes packed;
    struct unpack unpack;
    bool open;  /* the unpack is */
    bool begun; /* a window of it was given out */
    bool ended; /* no more windows will come */
    int status; /* then: 0, or -1 with a sentence */
    struct err err;
    u8 *windows; /* room for all */
    size_t size[WINDOWS];
    u32 first, n; /* those that are filled */
};

struct ahead {
    struct trace *trace;
    bool (*wants)(void *ctx, size_t piece);
    void *ctx;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct stream streams[STREAMS];
    u32 first, n;      /* those in use */
    size_t next_piece; /* that nobody has claimed */
    bool stopping;
    bool holds;                 /* the reader holds the first window of the first stream */
    struct store_reader reader; /* where there are no threads */
    pthread_t threads[THREADS];
    u32 n_threads;
};

/* -- One stream ------------------------------------------------------------------------------- */

static int stream_load(struct ahead *a, struct stream *s, struct store_reader *r)
{
    const struct trace_piece *p = &a->trace->pieces.v[s->piece];
    if (store_load(r, &p->chunk, &s->packed, &s->err))
        return -1;
    const char *fault = unpack_begin(&s->unpack, trace_table(a->trace, s->piece), p->n_exits,
                                     s->packed.v, s->packed.n);
    s->open = true;
    if (!fault && p->has_head && memcmp(&p->head, &s->unpack.head, sizeof p->head))
        fault = "has another head than the index says";
    return fault ? trace_fault(a->trace, s->piece, fault, &s->err) : 0;
}

/* Fill a window, which nobody else looks at: its size, 0 at the end, -1. */
static s64 stream_fill(struct ahead *a, struct stream *s, u32 window)
{
    const char *fault;
    s64 n = unpack_some(&s->unpack, s->windows + (size_t)window * WINDOW, WINDOW, &fault);
    return n < 0 ? trace_fault(a->trace, s->piece, fault, &s->err) : n;
}

static void stream_close(struct stream *s)
{
    if (s->open)
        unpack_end(&s->unpack);
    s->open = false;
}

/* -- The threads ------------------------------------------------------------------------------ */

/* The next chunk that is wanted, in a stream of its own; NULL if there is none. With the lock held. */
static struct stream *claim(struct ahead *a)
{
    while (a->next_piece < a->trace->pieces.n && a->wants && !a->wants(a->ctx, a->next_piece))
        a->next_piece++;
    if (a->next_piece == a->trace->pieces.n)
        return NULL;
    struct stream *s = &a->streams[(a->first + a->n++) % STREAMS];
    if (!s->windows)
        s->windows = malloc((size_t)WINDOWS * WINDOW);
    check(s->windows != NULL);
    s->piece = a->next_piece++;
    s->begun = s->ended = false;
    s->status = 0;
    s->first = s->n = 0;
    return s;
}

static void end_stream(struct stream *s, s64 status)
{
    s->status = status < 0 ? -1 : 0;
    s->ended = true;
}

static void run_stream(struct ahead *a, struct stream *s, struct store_reader *r)
{
    s64 n = stream_load(a, s, r) ? -1 : 1;
    while (n > 0) {
        pthread_mutex_lock(&a->lock);
        while (s->n == WINDOWS && !a->stopping)
            pthread_cond_wait(&a->changed, &a->lock);
        u32 window = (s->first + s->n) % WINDOWS;
        n = a->stopping ? 0 : 1;
        pthread_mutex_unlock(&a->lock);
        n = n ? stream_fill(a, s, window) : 0;
        pthread_mutex_lock(&a->lock);
        if (n > 0) {
            s->size[window] = (size_t)n;
            s->n++;
            pthread_cond_broadcast(&a->changed);
        }
        pthread_mutex_unlock(&a->lock);
    }
    pthread_mutex_lock(&a->lock);
    end_stream(s, n);
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

static void *thread_main(void *ahead)
{
    struct ahead *a = ahead;
    struct store_reader r;
    store_reader_share(&r, &a->trace->store);
    for (;;) {
        pthread_mutex_lock(&a->lock);
        while (a->n == STREAMS && !a->stopping)
            pthread_cond_wait(&a->changed, &a->lock);
        struct stream *s = a->stopping ? NULL : claim(a);
        pthread_cond_broadcast(&a->changed);
        pthread_mutex_unlock(&a->lock);
        if (!s)
            break;
        run_stream(a, s, &r);
    }
    store_reader_unshare(&r);
    return NULL;
}

/* -- The reader ------------------------------------------------------------------------------- */

/* Where there are no threads: make the first stream have a window, or be ended. */
static void work(struct ahead *a)
{
    struct stream *s = a->n ? &a->streams[a->first] : claim(a);
    if (!s || s->n || s->ended)
        return;
    s64 n = !s->open && stream_load(a, s, &a->reader) ? -1 : stream_fill(a, s, s->first);
    if (n > 0) {
        s->size[s->first] = (size_t)n;
        s->n = 1;
    } else {
        end_stream(s, n);
    }
}

/* Nothing is on its way, and nothing will be. */
static bool is_over(const struct ahead *a)
{
    return !a->n && a->next_piece == a->trace->pieces.n;
}

/* Give the window back that was given out last. */
static void let_go(struct ahead *a)
{
    if (!a->holds)
        return;
    struct stream *s = &a->streams[a->first];
    s->first = (s->first + 1) % WINDOWS;
    s->n--;
    a->holds = false;
    pthread_cond_broadcast(&a->changed);
}

static int take(struct ahead *a, struct ahead_window *w)
{
    struct stream *s = &a->streams[a->first];
    *w = (struct ahead_window){.piece = s->piece,
                               .begins = !s->begun,
                               .head = &s->unpack.head,
                               .packed = &s->packed,
                               .records = s->windows + (size_t)s->first * WINDOW,
                               .size = s->size[s->first]};
    s->begun = a->holds = true;
    return 1;
}

static int next_locked(struct ahead *a, struct ahead_window *w, struct err *e)
{
    let_go(a);
    for (;;) {
        if (!a->n_threads)
            work(a);
        if (is_over(a))
            return 0;
        struct stream *s = &a->streams[a->first];
        if (a->n && s->n)
            return take(a, w);
        if (a->n && s->ended) {
            if (s->status) {
                *e = s->err;
                return -1;
            }
            stream_close(s);
            a->first = (a->first + 1) % STREAMS;
            a->n--;
            pthread_cond_broadcast(&a->changed);
        } else if (a->n_threads) {
            pthread_cond_wait(&a->changed, &a->lock);
        }
    }
}

int ahead_next(struct ahead *a, struct ahead_window *w, struct err *e)
{
    pthread_mutex_lock(&a->lock);
    int more = next_locked(a, w, e);
    pthread_mutex_unlock(&a->lock);
    return more;
}

u32 ahead_threads(const struct trace *t)
{
    u64 bytes = 0;
    for (size_t i = 0; i < t->pieces.n; i++)
        bytes += t->pieces.v[i].chunk.raw_size;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return bytes < SMALL ? 0 : (u32)MAX(1, MIN(cores, (long)THREADS));
}

struct ahead *ahead_new(struct trace *t, u32 threads, bool (*wants)(void *ctx, size_t piece),
                        void *ctx)
{
    struct ahead *a = calloc(1, sizeof *a);
    check(a != NULL);
    a->trace = t;
    a->wants = wants;
    a->ctx = ctx;
    check(pthread_mutex_init(&a->lock, NULL) == 0 && pthread_cond_init(&a->changed, NULL) == 0);
    store_reader_share(&a->reader, &t->store);
    while (a->n_threads < MIN(threads, (u32)THREADS) &&
           !pthread_create(&a->threads[a->n_threads], NULL, thread_main, a))
        a->n_threads++;
    return a;
}

void ahead_free(struct ahead *a)
{
    pthread_mutex_lock(&a->lock);
    a->stopping = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    for (u32 i = 0; i < a->n_threads; i++)
        pthread_join(a->threads[i], NULL);
    for (u32 i = 0; i < STREAMS; i++) {
        stream_close(&a->streams[i]);
        vec_fini(&a->streams[i].packed);
        free(a->streams[i].windows);
    }
    store_reader_unshare(&a->reader);
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->changed);
    free(a);
}
