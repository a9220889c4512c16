/* SPDX-License-Identifier: MIT */
/* The host's door: run a program from the cache and drain what it records. */
#ifndef HOST_H
#define HOST_H

#include "base/base.h"
#include "base/err.h"
#include "base/vec.h"
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
    void *(*begin)(void *ctx, u32 number, const struct unit_table *t, const struct trace_mapped *m);
    void *(*open)(void *process, u64 turn, u32 thread); /* a buffer of this thread */
    void (*batch)(void *buffer, const struct events *e);
    void (*close)(void *buffer);
    /* The process has ended; these were its modules. */
    void (*end)(void *process, const struct trace_module *m, size_t n);
};

/* Code, and what it is to a partial trace: enum spot of translate.h. */
struct stretch {
    u64 start, end;
    u32 spot;
};
struct stretches {
    struct stretch *v;
    size_t n, cap;
};

/* Somebody who says which code is recorded. */
struct selector {
    void *ctx;
    enum selection kind; /* SELECT_all: nothing is selected, but something is told */
    struct stretches always; /* at these addresses, whatever is mapped there */
    /* A file was mapped: add what is selected in it. Several threads may ask at once. NULL: everything is. */
    void (*find)(void *ctx, const struct trace_module *m, struct stretches *found);
};

struct run_options {
    char **argv; /* the program and its arguments, NULL-terminated */
    pid_t attach; /* or a process that runs already; 0: none */
    const struct selector *selector; /* NULL: all code is recorded */
    double after;   /* seconds before recording begins */
    u32 trigger;    /* or calls of functions that are SPOT_TELL; 0: not */
    bool by_marks;  /* or the program says so itself, and when it ends */
    double seconds; /* that are recorded; 0: all that are left. A process that we attached to is left then */
    double leave; /* then leave it alone for so many, and attach again, without end; 0: once only */
    u64 max_refs;   /* recording ends when there are at least as many; 0: no limit */
    u32 novel;      /* how often code is recorded; 0: always */
    struct budget {
        double seconds, period; /* in each period; 0: there is no budget */
        enum policy policy;
        bool is_shared; /* by all threads of a process */
    } budget;
    enum events_level events;
    enum sink sink;
    enum overflow overflow; /* what a thread does whose records nobody takes */
    const char *output;     /* for SINK_file */
    const struct analyst *analyst; /* NULL: none */
    bool watch;             /* tell of what is allocated and freed */
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
    u64 requests, gates, indirect_misses, return_misses, syscalls, rests, buffer_waits, buffers,
        record_bytes;
    u64 lost_buffers, lost_bytes;
    u64 hot, settled, dropped, changed, flushes, units, insns, app_bytes, cache_bytes, ahead, doors, links;
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
