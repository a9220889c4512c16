/* SPDX-License-Identifier: MIT */
/* Somebody's tool, in a process of its own: it may crash, loop or take all memory, and nobody but itself is hurt.
 *
 * Between that process and gait stands a keeper, a process that does nothing but watch it, stop it when it does not come back, and
 * tell how it ended: gait itself must wait for the processes of the program, and for no others. */
#ifndef RUNNER_H
#define RUNNER_H

#include "analyze/analysis.h"
#include "tool/ring.h"

#include <stdio.h>

struct runner_options {
    const char *path;  /* of the shared object */
    char *const *set;  /* NAME=VALUE, up to a NULL */
    u32 jobs;          /* states at most */
    u32 patience;      /* seconds that it may take for a batch, and for its end; 0: any */
    u64 memory;        /* bytes that it may have; 0: any */
    FILE *results;     /* where it prints what it has found */
    size_t top;
    void (*print)(FILE *f, const struct result *r, size_t top);
};

struct runner {
    const struct runner_options *options;
    struct ring ring;
    int modules; /* what names_write was given */
    u32 left_out; /* processes for whose code there was no room, so that not all of them was shown */
};

/* Load the tool and have it begin: -1 with a sentence if it cannot. */
int runner_start(struct runner *r, const struct runner_options *o, struct err *e);
/* There are no more events: let it finish and print. -1 with a sentence if it could not. */
int runner_end(struct runner *r, const struct trace_module *m, size_t n, struct err *e);

/* What hands the events to it; a study of this is a runner. */
extern const struct analysis runner_analysis;

#endif
