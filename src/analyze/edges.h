/* SPDX-License-Identifier: MIT */
/* Dependences between two references, store and load, counted for each two. */
#ifndef EDGES_H
#define EDGES_H

#include "base/vec.h"

/* Of some dependences: how many, how many with a store of another thread, and how many instructions lie between. */
struct depend {
    u64 count, cross;
    u64 least; /* UINT64_MAX if there are none */
    unsigned __int128 sum;
};

#define DEPEND_NONE ((struct depend){.least = UINT64_MAX})

struct edge {
    u32 store, load;
    struct depend n;
};

struct edges {
    VEC(struct edge) all;
    u32 *slots;      /* a hash table: number of an edge + 1; 0: free */
    u64 n_slots;     /* a power of two, or 0 */
    VEC(u32) latest; /* by load: the edge that was counted last + 1 */
};

void depend_add(struct depend *to, const struct depend *from);
/* The mean distance; 0 if there are none. */
double depend_mean(const struct depend *n);
/* The edge between two references, which is made if there is none. */
struct edge *edges_find(struct edges *x, u32 store, u32 load);
void edges_fini(struct edges *x);

/* A load mostly reads what the same store wrote the last time. */
static inline void edges_count(struct edges *x, u32 store, u32 load, u64 distance, bool cross)
{
    struct edge *e =
        load < x->latest.n && x->latest.v[load] ? &x->all.v[x->latest.v[load] - 1] : NULL;
    if (!e || e->store != store)
        e = edges_find(x, store, load);
    e->n.least = distance < e->n.least ? distance : e->n.least;
    e->n.count++;
    e->n.cross += cross;
    e->n.sum += distance;
}

#endif
