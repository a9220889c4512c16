/* SPDX-License-Identifier: MIT */
/* The host's door: run a program from the cache and drain what it records. */
#ifndef HOST_H
#define HOST_H

#include "base/base.h"
#include "base/err.h"
#include "decode/decode.h"
#include "decode/trace.h"
#include "wire/wire.h"

#include <sys/types.h>

enum overflow { OVERFLOW_wait, OVERFLOW_drop };

/* Where the records go; an analyst may see them besides. */
enum sink { SINK_drop, SINK_decode, SINK_file };

/* Somebody who wants the events while the program runs. Several threads work on buffers at once; the buffers of a process have turns,
 * in the order in which they were filled. */
struct analyst {
    void *ctx;
    u32 threads; /* how many work on the buffers of a process; one if they go to a file, too */
    /* A process begins; its table grows, and stays until the end. What is returned stands for the process below. */
    void *(*begin)(void *ctx, u32 number, const struct unit_table *t);
    void *(*open)(void *process, u64 turn, u32 thread); /* a buffer of this thread */
    void (*batch)(void *buffer, const struct events *e);
    void (*close)(void *buffer);
    /* The process has ended; these were its modules. */
    void (*end)(void *process, const struct trace_module *m, size_t n);
};

struct run_options {
    char **argv; /* the program and its arguments, NULL-terminated */
    pid_t attach; /* or a process that runs already; 0: none */
    double seconds; /* let it go after these; 0: when a signal says so, or when it ends */
    double leave; /* then leave it alone for so many, and attach again, without end; 0: once only */
    enum events_level events;
    enum sink sink;
    enum overflow overflow; /* what a thread does whose records nobody takes */
    const char *output;     /* for SINK_file */
    const struct analyst *analyst; /* NULL: none */
    bool follow;            /* trace the processes it makes, too */
};

struct run_stats {
    double seconds;                      /* from the first instruction to the end */
    double user_seconds, system_seconds; /* of the program alone */
    double attach_pause, leave_pause;    /* how long threads stood still at most when they were attached to, and let go */
    u64 windows;                         /* how often it was attached to */
    u64 processes, threads;              /* traced; a new image counts as a process */
    u64 untraced;                        /* tasks that ran natively */
    u64 full;    /* processes that went on natively since no more units could be numbered */
    u64 stepped; /* instructions that ran natively */
    u64 requests, gates, indirect_misses, return_misses, syscalls, buffer_waits, buffers,
        record_bytes;
    u64 lost_buffers, lost_bytes;
    u64 hot, dropped, changed, flushes, units, insns, app_bytes, cache_bytes, ahead, doors, links;
};

struct run_result {
    bool ran;                   /* the program was started; the fields below hold */
    int status;                 /* as from waitpid */
    struct trace_counts counts; /* where they are decoded */
    u64 digest;                 /* for SINK_file under stress */
    struct run_stats stats;
    bool refused;     /* something could not be translated: it ran natively, one step at a time */
    struct err why;   /* the first of those */
    bool undecodable; /* where they are decoded */
    struct err decode_error;
};

/* Run to the end, or as long as told. -1 with a sentence if it could not be started or the trace could not be written;
 * in the second case the program has still run to its end and `ran` is set. */
int host_run(const struct run_options *o, struct run_result *r, struct err *e);

#endif
