/* SPDX-License-Identifier: MIT */
/* Options that say which part of a program is recorded, and when. */
#ifndef SELECT_H
#define SELECT_H

#include "cmd/run.h"

#include <getopt.h>
#include <pthread.h>

/* One of the things that were selected. */
struct choice {
    enum choice_kind { CHOICE_function, CHOICE_module, CHOICE_source, CHOICE_range, CHOICE_trigger } kind;
    const char *given; /* as it was */
    char *name;        /* a pattern; of a source, its file */
    u32 from, to;      /* lines */
    bool found;        /* there is such code */
    struct near {
        char name[80];
        u32 distance;
    } near[3]; /* functions that are called nearly so, the nearest first */
};

struct choices {
    const char *command;
    VEC(struct choice) list;
    bool only; /* functions without what they call */
    double after, seconds;
    u32 count; /* calls of triggers */
    bool by_marks;
    u64 max_refs;
    u32 novel; /* how often code is recorded; 0: always */
    struct budget budget;
    struct selector selector;
    pthread_mutex_t lock; /* guards the choices' findings, and libdw */
};

enum {
    OPT_FUNCTION = 512,
    OPT_MODULE,
    OPT_SOURCE,
    OPT_RANGE,
    OPT_ONLY,
    OPT_AFTER,
    OPT_FOR,
    OPT_MAX_REFS,
    OPT_TRIGGER,
    OPT_COUNT,
    OPT_MARKS,
    OPT_BUDGET,
    OPT_BUDGET_SCOPE,
    OPT_BUDGET_POLICY,
    OPT_NOVEL,
};
#define CHOICE_OPTIONS                                                                                 \
    {"function", required_argument, NULL, OPT_FUNCTION}, {"module", required_argument, NULL, OPT_MODULE},      \
        {"source", required_argument, NULL, OPT_SOURCE}, {"range", required_argument, NULL, OPT_RANGE},        \
        {"only", no_argument, NULL, OPT_ONLY}, {"after", required_argument, NULL, OPT_AFTER},                  \
        {"for", required_argument, NULL, OPT_FOR}, {"max-refs", required_argument, NULL, OPT_MAX_REFS},           \
        {"trigger", required_argument, NULL, OPT_TRIGGER}, {"count", required_argument, NULL, OPT_COUNT},      \
        {"marks", no_argument, NULL, OPT_MARKS}, {"budget", required_argument, NULL, OPT_BUDGET},                                               \
        {"budget-scope", required_argument, NULL, OPT_BUDGET_SCOPE},                                   \
        {"budget-policy", required_argument, NULL, OPT_BUDGET_POLICY}, {"novel", optional_argument, NULL, OPT_NOVEL}

void choices_init(struct choices *x, const char *command);
/* Is it one of these? */
bool choices_option(struct choices *x, int c);
/* Make it so; ends the command if that makes no sense. A process to attach to is looked at: it must have what was chosen. */
void choices_apply(struct choices *x, struct run_options *o);
/* After a run: say what was not found. False if nothing was. */
bool choices_report(const struct choices *x);
void choices_fini(struct choices *x);

#endif
