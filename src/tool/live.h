/* SPDX-License-Identifier: MIT */
/* A program, through a pipeline while it runs. */
#ifndef LIVE_H
#define LIVE_H

#include "analyze/pipeline.h"
#include "host/host.h"

struct live {
    struct pipeline *pipeline;
    void (*begun)(void *ctx); /* the program has begun to run; may be NULL */
    void *ctx;
    VEC(struct trace_module) modules; /* of all its processes; the texts are ours */
};

/* Run to the end, as host_run does; the analyst of the options is filled in here. */
int live_run(struct live *l, struct run_options *o, u32 workers, struct run_result *r,
             struct err *e);
void live_fini(struct live *l);

#endif
