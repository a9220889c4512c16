/* SPDX-License-Identifier: MIT */
/* The result of the analysis `patterns`: a row for each static reference, and how they take turns. */
#ifndef SHAPES_H
#define SHAPES_H

#include "analyze/aims.h"
#include "analyze/result.h"
#include "analyze/sources.h"
#include "analyze/statics.h"
#include "analyze/streams.h"

/* One process's memory. */
struct pattern_memory {
    u32 number, n_parts;
    bool merged;
    struct statics statics;
    /* By number of the static reference, modulo their number; divided by that, it is its index there. */
    struct streams *parts;
    struct aims *aims;     /* the same */
    struct variable_memory *variables;
};

struct shapes_options {
    bool merged, check;
    struct variables *variables;
    const char *unwritten; /* a file that could not be written; NULL: there is none */
};

void shapes_result(struct pattern_memory *const *memories, size_t n, const struct shapes_options *o,
                   struct sources *sources, struct result *r);

#endif
