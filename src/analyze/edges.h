/* SPDX-License-Identifier: MIT */
/* Dependences between two references, store and load, counted for each two. */
#ifndef EDGES_H
#define EDGES_H

#include "base/vec.h"

/* Of some dependences: how many, how many with a store of another thread, and how many instructions lie between. */
struct depend {
    u64 count, cross;
    u64 least;
    unsigned __int128 sum;
};

struct edge {
    u32 store, load;
    struct depend n;
};

struct edges {
    VEC(struct edge) all;
    u32 *slots; /* a hash table: number of an edge + 1; 0: free */
    u64 n_slots; /* a power of two, or 0 */
    VEC(u32) latest; /* by load: the edge that was counted last + 1 */
};

void depend_add(struct depend *to, const struct depend *from);
/* The mean distance; 0 if there are none. */
double depend_mean(const struct depend *n);
void edges_count(struct edges *x, u32 store, u32 load, u64 distance, bool cross);
void edges_fini(struct edges *x);

#endif
