/* SPDX-License-Identifier: MIT */
/* What an analysis is: what is done with the events of a run or a trace, in two steps.
 *
 *   add    several threads at once, each with a work of its own: whatever needs nothing of what came before
 *   take   one work after the other, in the order of the program: whatever does
 *
 * So the first step is parallel by itself. The second may be made parallel by parts (sets of a cache, ranges of addresses): the
 * parts of a work are taken at the same time, and each sees all works in order. An analysis that only counts has no second step.
 *
 *     study = make(); set(study, ..); begin(study, workers)
 *     for each memory, that is a process and the units of its code:
 *         m = memory(study, number, table);
 *         for each stretch of a thread's records: open(work, thread); add(work, ..) ..; close(work); take(m, work, part) for each part
 *         merge(m, work) for each work that was made; end(m)
 *     join(study, sources), if another trace follows, and so on
 *     finish(study, sources, result); drop(study)
 *
 * make .. memory, merge .. drop are called by one thread at a time; take by one at a time for each part, whatever the memory. */
#ifndef ANALYSIS_H
#define ANALYSIS_H

#include "analyze/result.h"
#include "analyze/sources.h"
#include "base/err.h"
#include "decode/decode.h"

struct analysis_option {
    const char *name;
    const char *argument; /* what it is given, for people; NULL: nothing */
    const char *what;
};

struct analysis {
    const char *name;
    const struct analysis_option *options; /* up to one without a name; NULL if there are none */
    bool wants_memory;                     /* control flow alone is not enough */
    bool wants_watch;                      /* it tells of what was allocated, if that is known */

    void *(*make)(void);
    /* One of its options was given; -1 with the rest of a sentence that begins with the option. */
    int (*set)(void *study, const char *option, const char *value, struct err *e);
    /* All were. It may be taken in up to so many parts: how many, or -1 with a sentence. NULL: one part. */
    int (*begin)(void *study, u32 workers, struct err *e);
    /* Does it want several traces, as it is set? NULL: it never does. */
    bool (*joins)(const void *study);
    /* A trace has ended, and another follows, which has other memories and sources. */
    void (*join)(void *study, struct sources *s);
    void (*finish)(void *study, struct sources *s, struct result *r);
    void (*drop)(void *study);

    /* The table grows while it is read, but does not move. */
    void *(*memory)(void *study, u32 number, const struct unit_table *t);
    /* Where its modules are told, as long as the memory is there; NULL: it does not want to know before it ends. */
    void (*mapped)(void *memory, const struct trace_mapped *m);
    void (*end)(void *memory);

    void *(*work)(void *memory);
    /* A stretch of this thread's records follows; nothing is known of what came before. */
    void (*open)(void *work, u32 thread);
    void (*add)(void *work, const struct events *e);
    /* All were; it is taken next. NULL: there is nothing to be done. */
    void (*close)(void *work);
    void (*take)(void *memory, void *work, u32 part); /* NULL: there is nothing to be done in order */
    /* Take what it has gathered on its own, and free it. */
    void (*merge)(void *memory, void *work);
};

/* NULL if there is none of this name. */
const struct analysis *analysis_find(const char *name);
/* All there are, and NULL. */
extern const struct analysis *const analyses[];

#endif
