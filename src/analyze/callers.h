/* SPDX-License-Identifier: MIT */
/* Who had called a thread's function, where recording resumes: from a copy of its stack, and what the files that were mapped say of their code. */
#ifndef CALLERS_H
#define CALLERS_H

#include "analyze/sources.h"
#include "base/vec.h"

struct stack_word {
    u64 at, value;
};

/* Words of a stack, ascending: those that may be return addresses or saved frame pointers. */
struct stack_copy {
    u64 pc, rsp, rbp;
    VEC(struct stack_word) words;
};

struct caller {
    u64 pc;   /* where its function begins */
    u64 slot; /* of its return address */
};

struct callers {
    const struct trace_mapped *mapped;
    VEC(struct trace_module) modules; /* as many as were read, in the order of time */
    struct sources sources;           /* of these */
    VEC(struct caller) list; /* the innermost first */
    bool is_whole;           /* up to a function that nobody called */
};

void callers_init(struct callers *c);
/* Fill the list. */
void callers_find(struct callers *c, const struct stack_copy *s);
void callers_fini(struct callers *c);

#endif
