/* SPDX-License-Identifier: MIT */
/* The route of an exit: which branches its instructions are, and where each of them went.
 *
 * Routes are made when an exit is first seen, and kept for all threads that add events of one unit table. */
#ifndef ROUTES_H
#define ROUTES_H

#include "analyze/passes.h"
#include "base/arena.h"

#include <pthread.h>

/* A conditional branch, once executed. */
struct choice {
    u32 at;   /* the low bits of its pc */
    u32 what; /* its number << 1 | taken */
};

/* A branch whose target is not in its code, or a call. */
enum hop_kind {
    HOP_push, /* a call: `target` is where it will return to */
    HOP_jump, /* an indirect jump or call */
    HOP_ret,
};

struct hop {
    u64 target;
    u32 at;   /* as above */
    u32 what; /* number << 2 | kind */
};

struct route {
    const struct choice *choices;
    const struct hop *hops;
    u32 n_choices, n_hops;
    bool open;  /* the last hop's target is where the thread goes on: the record does not tell */
    bool known; /* atomic: it was made */
};

enum {
    ROUTES_LOG2 = 14,
    ROUTE_BLOCKS = 1 << (24 - ROUTES_LOG2) /* enough for all exits there can be */
};

/* What branches are summed up by. */
enum { SUM_conditional, SUM_indirect, SUM_returns, SUMS };

struct branch {
    u64 pc;
    u8 sum;
};

struct routes {
    const struct unit_table *table;
    struct route *block[ROUTE_BLOCKS]; /* by exit; atomic */
    pthread_mutex_t lock;              /* guards what follows */
    VEC(u32) numbers;                  /* by instruction of the table: its branch's number + 1 */
    VEC(struct branch) branches;       /* by number */
    VEC(struct choice) choices;        /* of the route being made */
    VEC(struct hop) hops;
    struct arena arena;
};

void routes_init(struct routes *r, const struct unit_table *t);
void routes_fini(struct routes *r);
/* The route of an exit of the table; it stays where it is. */
const struct route *routes_exit(struct routes *r, u32 exit);
/* The route of a unit that was left in its middle; *room is filled, and freed with route_free. */
void routes_partial(struct routes *r, const struct ran *ran, struct route *room);
void route_free(struct route *room);

#endif
