/* SPDX-License-Identifier: MIT */
/* The analyst that the host asks for is a pipeline; each process has an order of its own. */
#include "tool/live.h"

#include <stdlib.h>
#include <string.h>

struct live_process {
    struct live *live;
    u32 number;
    struct pipe_order *order;
    struct pipe_memory *memory;
};

static void *live_begin(void *live, u32 number, const struct unit_table *t,
                        const struct trace_mapped *m)
{
    struct live *l = live;
    struct live_process *p = malloc(sizeof *p);
    check(p != NULL);
    *p = (struct live_process){.live = l, .number = number, .order = pipeline_order(l->pipeline)};
    p->memory = pipeline_begin(p->order, number, t);
    pipeline_mapped(p->memory, m);
    if (l->begun)
        l->begun(l->ctx);
    return p;
}

static void *live_open(void *process, u64 turn, u32 thread)
{
    struct live_process *p = process;
    return pipeline_open(p->memory, turn, thread);
}

static void live_batch(void *stretch, const struct events *e)
{
    pipeline_add(stretch, e);
}

static void live_close(void *stretch)
{
    pipeline_close(stretch);
}

static char *copy(const char *s)
{
    char *c = strdup(s);
    check(c != NULL);
    return c;
}

static void live_end(void *process, const struct trace_module *m, size_t n)
{
    struct live_process *p = process;
    for (size_t i = 0; i < n; i++) {
        struct trace_module own = m[i];
        own.process = p->number;
        own.path = copy(own.path);
        own.build_id = copy(own.build_id);
        vec_push(&p->live->modules, own);
    }
    pipeline_end(p->memory);
    pipeline_order_free(p->order);
    free(p);
}

int live_run(struct live *l, struct run_options *o, u32 workers, struct run_result *r,
             struct err *e)
{
    struct analyst a = {l,          workers,    live_begin, live_open,
                        live_batch, live_close, live_end};
    o->analyst = &a;
    int status = host_run(o, r, e);
    o->analyst = NULL;
    return status;
}

void live_fini(struct live *l)
{
    for (size_t i = 0; i < l->modules.n; i++) {
        free(l->modules.v[i].path);
        free(l->modules.v[i].build_id);
    }
    vec_fini(&l->modules);
}
