/* SPDX-License-Identifier: MIT */
/* Threads that take windows of records, one after the other. */
#include "analyze/replay.h"
#include "decode/walk.h"

#include <pthread.h>
#include <stdlib.h>

struct replay {
    struct trace *trace;
    struct pipeline *pipeline;
    struct pipe_order *order;
    struct pipe_memory **memories; /* by process; NULL where there are no chunks */
    struct relay *relay;
    u32 failed; /* atomic */
};

/* The modules of one process. */
struct replay_mapped {
    struct trace *trace;
    u32 process;
    struct trace_mapped mapped;
};

struct replayer {
    struct replay *replay;
    pthread_t thread;
    struct walk walk;
    u8 *records; /* of the window being walked */
    int status;
    u64 turn; /* where it failed */
    struct err err;
};

/* A window that was taken has its turn from here on, whatever becomes of it: those behind it wait for that. */
static int replay_window(struct replayer *x, const struct relay_window *window)
{
    struct replay *r = x->replay;
    const struct trace_piece *piece = &r->trace->pieces.v[window->piece];
    struct stretch *s = pipeline_open(r->memories[piece->memory], window->turn, piece->chunk.owner);
    int status;
    walk_window(&x->walk, window, x->records);
    while ((status = walk_next(&x->walk, &x->err)) > 0)
        pipeline_add(s, &x->walk.events);
    pipeline_close(s);
    return status;
}

static void *replay_main(void *replayer)
{
    struct replayer *x = replayer;
    struct replay *r = x->replay;
    struct relay_window window = {0};
    int more = 1;
    while (more > 0 && !x->status && !load_relaxed(&r->failed)) {
        u64 since = pipeline_ticks();
        more = relay_next(r->relay, &window, x->records, &x->err);
        pipeline_unpacked(r->pipeline, since);
        x->status = more > 0 ? replay_window(x, &window) : more;
    }
    x->turn = window.turn;
    if (x->status)
        store_relaxed(&r->failed, 1);
    return NULL;
}

static void run_threads(struct replay *r, struct replayer *x, u32 workers)
{
    for (u32 i = 0; i < workers; i++) {
        x[i].replay = r;
        x[i].records = malloc(RELAY_WINDOW);
        check(x[i].records != NULL);
        walk_init(&x[i].walk, r->trace);
        check(pthread_create(&x[i].thread, NULL, replay_main, &x[i]) == 0);
    }
    for (u32 i = 0; i < workers; i++) {
        pthread_join(x[i].thread, NULL);
        walk_fini(&x[i].walk);
        free(x[i].records);
    }
}

/* What is wrong first. */
static void tell(const struct replayer *x, u32 workers, struct err *e)
{
    const struct replayer *first = NULL;
    for (u32 i = 0; i < workers; i++)
        if (x[i].status && (!first || x[i].turn < first->turn))
            first = &x[i];
    if (first)
        *e = first->err;
}

static size_t read_modules(void *mapped, size_t from, struct trace_module *to, size_t room)
{
    const struct replay_mapped *x = mapped;
    size_t n = 0, at = 0;
    for (size_t i = 0; i < x->trace->modules.n && n < room; i++)
        if (x->trace->modules.v[i].process == x->process && at++ >= from)
            to[n++] = x->trace->modules.v[i];
    return n;
}

int replay(struct pipeline *p, struct trace *t, u32 workers, struct err *e)
{
    struct replay r = {.trace = t, .pipeline = p, .order = pipeline_order(p), .relay = relay_new(t)};
    struct replayer *x = calloc(workers, sizeof *x);
    r.memories = calloc(MAX(t->units.n, 1ul), sizeof *r.memories);
    struct replay_mapped *mapped = zeros(t->units.n, sizeof *mapped);
    check(x && r.memories);
    for (size_t i = 0; i < t->pieces.n; i++) {
        u32 memory = t->pieces.v[i].memory;
        if (r.memories[memory])
            continue;
        r.memories[memory] = pipeline_begin(r.order, memory, trace_table(t, i));
        mapped[memory] = (struct replay_mapped){t, memory, {&mapped[memory], read_modules}};
        pipeline_mapped(r.memories[memory], &mapped[memory].mapped);
    }
    run_threads(&r, x, workers);
    for (size_t i = 0; i < t->units.n; i++)
        if (r.memories[i])
            pipeline_end(r.memories[i]);
    tell(x, workers, e);
    relay_free(r.relay);
    pipeline_order_free(r.order);
    free(r.memories);
    free(mapped);
    free(x);
    return r.failed ? -1 : 0;
}
