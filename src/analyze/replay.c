/* SPDX-License-Identifier: MIT */
/* Threads that claim chunks, one after the other. */
#include "analyze/replay.h"
#include "decode/walk.h"

#include <pthread.h>
#include <stdlib.h>

struct replay {
    struct trace *trace;
    struct pipe_order *order;
    struct pipe_memory **memories; /* by process; NULL where there are no chunks */
    u8 *claimed;                   /* by chunk; atomic */
    u32 failed;                    /* atomic */
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
    struct stretch *stretch; /* of the chunk being walked */
    int status;
    struct err err;
};

/* A chunk that is claimed has its turn from here on, whatever becomes of it: those behind it wait for that. */
static bool claim(void *replayer, size_t i)
{
    struct replayer *x = replayer;
    struct replay *r = x->replay;
    const struct trace_piece *piece = &r->trace->pieces.v[i];
    if (load_relaxed(&r->claimed[i]) || __atomic_exchange_n(&r->claimed[i], 1, __ATOMIC_RELAXED))
        return false;
    if (x->stretch)
        pipeline_close(x->stretch);
    x->stretch = pipeline_open(r->memories[piece->memory], i, piece->chunk.owner);
    return true;
}

static void *replay_main(void *replayer)
{
    struct replayer *x = replayer;
    struct walk *w = &x->walk;
    while (!load_relaxed(&x->replay->failed) && (x->status = walk_next(w, &x->err)) > 0)
        pipeline_add(x->stretch, &w->events);
    if (x->status < 0)
        store_relaxed(&x->replay->failed, 1);
    if (x->stretch)
        pipeline_close(x->stretch);
    return NULL;
}

static void run_threads(struct replay *r, struct replayer *x, u32 workers)
{
    for (u32 i = 0; i < workers; i++) {
        x[i].replay = r;
        walk_init(&x[i].walk, r->trace);
        walk_where(&x[i].walk, claim, &x[i]);
        walk_alone(&x[i].walk);
        check(pthread_create(&x[i].thread, NULL, replay_main, &x[i]) == 0);
    }
    for (u32 i = 0; i < workers; i++) {
        pthread_join(x[i].thread, NULL);
        walk_fini(&x[i].walk);
    }
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
    struct replay r = {.trace = t, .order = pipeline_order(p)};
    struct replayer *x = calloc(workers, sizeof *x);
    r.memories = calloc(MAX(t->units.n, 1ul), sizeof *r.memories);
    r.claimed = calloc(MAX(t->pieces.n, 1ul), sizeof *r.claimed);
    struct replay_mapped *mapped = zeros(t->units.n, sizeof *mapped);
    check(x && r.memories && r.claimed);
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
    for (u32 i = 0; i < workers && r.failed; i++)
        if (x[i].status < 0)
            *e = x[i].err;
    pipeline_order_free(r.order);
    free(r.memories);
    free(r.claimed);
    free(mapped);
    free(x);
    return r.failed ? -1 : 0;
}
