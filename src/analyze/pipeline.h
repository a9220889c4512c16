/* SPDX-License-Identifier: MIT */
/* From decoded batches to results: any number of analyses, in one pass, by any number of threads.
 *
 * Whoever decodes a stretch of a thread's records hands over its batches, and they are added to works at once. Stretches have turns;
 * works are taken in the order of the turns, by whichever thread has just handed one over: so nobody is a decoder or an analyser for
 * good, and all do what there is to do. If too many works wait for their turn, their makers wait.
 *
 *     p = pipeline_new(chosen, studies, n, workers)
 *     o = pipeline_order(p)
 *     for each memory: m = pipeline_begin(o, number, table)
 *     by any thread, for turn = 0, 1, ..: s = pipeline_open(m, turn, thread); pipeline_add(s, events) ..; pipeline_close(s)
 *     pipeline_end(m) for each memory; pipeline_order_free(o); pipeline_free(p)                                             */
#ifndef PIPELINE_H
#define PIPELINE_H

#include "analyze/analysis.h"

struct pipeline;
struct pipe_order;
struct pipe_memory;
struct stretch;

/* What the threads' time went to, in ticks of the processor's clock. */
struct pipe_stats {
    u64 ticks;  /* from the first stretch to the last, of one clock */
    u64 decode; /* and unpack; of all threads together, as all below */
    u64 add;
    u64 take;
    u64 wait; /* for works to be taken */
    u64 works, stretches, refs;
};

/* The studies have been made and set; NULL with a sentence if one of them cannot begin. */
struct pipeline *pipeline_new(const struct analysis *const *chosen, void *const *studies, u32 n,
                              u32 workers, struct err *e);
/* An order of turns; memories that share one are seen as one program's. All its memories have ended when it is freed. */
struct pipe_order *pipeline_order(struct pipeline *p);
void pipeline_order_free(struct pipe_order *o);
struct pipe_memory *pipeline_begin(struct pipe_order *o, u32 number, const struct unit_table *t);
/* Before its first stretch: where its modules are told, until it ends. */
void pipeline_mapped(struct pipe_memory *m, const struct trace_mapped *mapped);
struct stretch *pipeline_open(struct pipe_memory *m, u64 turn, u32 thread);
void pipeline_add(struct stretch *s, const struct events *e);
void pipeline_close(struct stretch *s);
void pipeline_end(struct pipe_memory *m);
/* What a thread did since then was to unpack records; now. */
void pipeline_unpacked(struct pipeline *p, u64 since);
u64 pipeline_ticks(void);
struct pipe_stats pipeline_stats(const struct pipeline *p);
void pipeline_free(struct pipeline *p);

#endif
