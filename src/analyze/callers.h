/* SPDX-License-Identifier: MIT */
/* Who had called a thread's function, where recording resumes: from a copy of its stack, and what the files that were mapped say of their code. */
#ifndef CALLERS_H
#define CALLERS_H

#include "base/vec.h"
#include "decode/trace.h"
#include "image/image.h"

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

struct callers_module {
    u64 start, end, offset;
    u32 file;
};

struct callers_file {
    const char *path, *build_id;
    struct image *image; /* NULL: not opened yet */
};

struct callers {
    const struct trace_mapped *mapped;
    VEC(struct callers_module) modules; /* in the order of time: as many as were read */
    VEC(struct callers_file) files;
    VEC(struct caller) list; /* the innermost first */
    bool is_whole;           /* up to a function that nobody called */
};

void callers_init(struct callers *c);
/* Fill the list. */
void callers_find(struct callers *c, const struct stack_copy *s);
void callers_fini(struct callers *c);

#endif
