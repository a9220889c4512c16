/* SPDX-License-Identifier: MIT */
/* The tree of calling contexts: which function ran how much, called by which. Functions are names, so trees of several threads, processes
 * and runs go into one. */
#ifndef TREE_H
#define TREE_H

#include "analyze/miss_kinds.h"
#include "base/arena.h"
#include "base/base.h"
#include "base/vec.h"

enum { TREE_ROOT = 0, TREE_NONE = UINT32_MAX };

struct tree_counts {
    u64 insns, reads, writes;
    u64 misses[MISS_KINDS];
};

struct tree_function {
    const char *name;
    const char *module; /* NULL: none */
    bool is_code;       /* without a name of its own: what it is called is an address */
};

struct tree_node {
    u32 parent, function;
    u32 child, next; /* when the tree is done: the heaviest first */
    u32 depth;
    u64 calls;
    struct tree_counts self, all; /* itself; with what it called */
    u64 left;   /* how often it was left by a jump to another function */
    u32 led_to; /* ... to this node; TREE_NONE: to none yet */
    bool led_to_many;
    bool is_parent;
};

struct tree {
    VEC(struct tree_node) nodes; /* parents first */
    VEC(struct tree_function) functions;
    struct arena names;
    struct tree_slots {
        u32 *v; /* index + 1, by hash */
        u32 mask, used;
    } node_slots, function_slots;
};

void tree_add(struct tree_counts *to, const struct tree_counts *n);
/* With a root, which is a function of this name. */
void tree_init(struct tree *t, const char *root);
void tree_fini(struct tree *t);
/* The number of a function; texts are copied. */
u32 tree_function(struct tree *t, const char *name, const char *module, bool is_code);
/* By name, then module. */
int tree_compare(const struct tree_function *a, const struct tree_function *b);
/* The node of a function that was called by a node's. */
u32 tree_child(struct tree *t, u32 parent, u32 function);
/* Code of a node jumped to that of another function in the same place. */
void tree_jumped(struct tree *t, u32 from, u32 to, u64 times);
/* All has been entered: let nameless pieces of code that only lead to a function be part of that, sum up, order. */
void tree_finish(struct tree *t);
/* The node behind this one, in the order in which a reader wants them; TREE_NONE: there is none. */
u32 tree_next(const struct tree *t, u32 node);

#endif
