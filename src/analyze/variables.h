/* SPDX-License-Identifier: MIT */
/* What a programmer calls the data at an address: variables and their members, heap blocks by where they were allocated, what functions keep on
 * the stack. Each has a number, which is small and stays.
 *
 * Blocks come and go, so addresses are asked about in the order of the program. An analysis that does so has
 *
 *     in its study    a struct variables
 *     in a memory     a struct variable_memory, for as many parts as it is taken in; its `mapped` calls variables_mapped()
 *     in a work       a struct variable_work: `open` calls variables_open(), `add` variables_add(), `merge` variables_work_fini()
 *     in `take`       p = variables_take(..); for each address, ascending: variables_until(p, ..); n = variables_at(p, ..); and variables_taken(p)
 *     in `finish`     variables_name(..)                                                                                                          */
#ifndef VARIABLES_H
#define VARIABLES_H

#include "analyze/allocations.h"
#include "decode/trace.h"

struct variables;
struct variable_memory;
struct variable_part;

struct variable_work {
    u32 thread;
    struct sightings sightings;
};

/* What it is called. Texts live as long as the variables. */
struct variable_name {
    const char *text;
    const char *kind; /* static, heap, mapping, stack; section: of a file, nothing more is known; other */
    const char *type; /* NULL: not known, as what follows: where it was declared, or allocated */
    const char *file;
    u32 line;
};

enum { VARIABLE_OTHER = 0 /* nothing is known of it */, VARIABLE_NO_REF = UINT32_MAX };

struct variables *variables_new(void);
void variables_free(struct variables *v);
/* How many numbers there are. */
u32 variables_count(const struct variables *v);
struct variable_name variables_name(struct variables *v, u32 number);
/* Whether what was allocated is known; if not, a sentence to say so, where a heap was seen. NULL: there is nothing to say. */
const char *variables_trouble(const struct variables *v);

struct variable_memory *variables_memory(struct variables *v, u32 process, const struct unit_table *t,
                                         u32 parts);
void variables_mapped(struct variable_memory *m, const struct trace_mapped *mapped);
void variables_end(struct variable_memory *m);

void variables_open(struct variable_work *w, u32 thread);
void variables_add(struct variable_work *w, const struct events *e);
void variables_work_fini(struct variable_work *w);

/* Begin to take a work. Each part is one thread's at a time. */
struct variable_part *variables_take(struct variable_memory *m, u32 part, const struct variable_work *w);
/* What was allocated and freed before this reference of the work, or this instruction, is from here on. Both count from 0. */
void variables_until(struct variable_part *p, u64 ref);
void variables_until_insn(struct variable_part *p, u64 insn);
/* The number of what is at an address now; ref: which one of the table asks for it, or VARIABLE_NO_REF. */
u32 variables_at(struct variable_part *p, u64 address, u32 ref);
/* ... and from where to where it reaches, or at least it does; of what is known to be on the stack by the reference, anywhere. */
struct variable_stretch {
    u32 number;
    u64 start, end;
    bool moves; /* it is in a frame: if that is elsewhere, something else is there */
};
struct variable_stretch variables_stretch(struct variable_part *p, u64 address, u32 ref);
/* It holds as long as this stays the same, and if it moves, where the frame of the code is that makes the reference, 0 if that is not known. */
const u64 *variables_change(const struct variable_part *p);
u64 variables_frame(struct variable_part *p, u32 ref, u64 place);
void variables_taken(struct variable_part *p);
/* The works of several threads do not come quite in the order of time. So what is allocated may be seen later than it is used: if a number says little, one may ask
 * again when all works were taken, in `end`, for what was there last. */
bool variables_is_vague(struct variable_part *p, u32 number);
u32 variables_late(struct variable_part *p, u64 address);
struct variable_part *variables_part(struct variable_memory *m, u32 part);

#endif
