/* SPDX-License-Identifier: MIT */
/* Nodes in an array, found by hashes. Nothing here calls itself: a program may recurse a million deep. */
#include "analyze/tree.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

/* -- Finding ------------------------------------------------------------------------------------ */

static u64 mix(u64 hash, u64 x)
{
    hash = (hash ^ x) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}

static u64 mix_text(u64 hash, const char *s)
{
    for (; s && *s; s++)
        hash = mix(hash, (u8)*s);
    return mix(hash, s ? 1 : 2);
}

static u64 hash_function(const struct tree_function *f)
{
    return mix_text(mix_text(f->is_code, f->name), f->module);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_function(const struct tree_function *a, const struct tree_function *b)
{
    return a->is_code == b->is_code && same_text(a->name, b->name) &&
           same_text(a->module, b->module);
}

static u32 *find_function(struct tree *t, const struct tree_function *f)
{
    u32 at = (u32)hash_function(f) & t->function_slots.mask, *v = t->function_slots.v;
    while (v[at] && !same_function(&t->functions.v[v[at] - 1], f))
        at = (at + 1) & t->function_slots.mask;
    return &v[at];
}

static u32 *find_node(struct tree *t, u32 parent, u32 function)
{
    u32 at = (u32)mix(mix(1, parent), function) & t->node_slots.mask, *v = t->node_slots.v;
    while (v[at] &&
           (t->nodes.v[v[at] - 1].parent != parent || t->nodes.v[v[at] - 1].function != function))
        at = (at + 1) & t->node_slots.mask;
    return &v[at];
}

/* Make room for one more; true if everything has to be entered anew. */
static bool grow_slots(struct tree_slots *s)
{
    if (s->v && s->used < s->mask / 2)
        return false;
    u32 size = s->v ? 2 * (s->mask + 1) : FIRST_SLOTS;
    free(s->v);
    s->v = calloc(size, sizeof *s->v);
    check(s->v != NULL);
    s->mask = size - 1;
    return true;
}

/* -- Entering ----------------------------------------------------------------------------------- */

static const char *keep_text(struct tree *t, const char *s)
{
    size_t n = s ? strlen(s) + 1 : 0;
    return s ? memcpy(arena_alloc(&t->names, n), s, n) : NULL;
}

u32 tree_function(struct tree *t, const char *name, const char *module, bool is_code)
{
    struct tree_function f = {name, module, is_code};
    if (grow_slots(&t->function_slots))
        for (u32 i = 0; i < t->functions.n; i++)
            *find_function(t, &t->functions.v[i]) = i + 1;
    u32 *slot = find_function(t, &f);
    if (!*slot) {
        f.name = keep_text(t, name);
        f.module = keep_text(t, module);
        check(t->functions.n < TREE_NONE - 1);
        vec_push(&t->functions, f);
        *slot = (u32)t->functions.n;
        t->function_slots.used++;
    }
    return *slot - 1;
}

static void add_node(struct tree *t, u32 parent, u32 function)
{
    check(t->nodes.n < TREE_NONE - 1);
    vec_push(&t->nodes, ((struct tree_node){.parent = parent,
                                            .function = function,
                                            .child = TREE_NONE,
                                            .next = TREE_NONE,
                                            .led_to = TREE_NONE}));
}

u32 tree_child(struct tree *t, u32 parent, u32 function)
{
    if (grow_slots(&t->node_slots))
        for (u32 i = 0; i < t->nodes.n; i++)
            *find_node(t, t->nodes.v[i].parent, t->nodes.v[i].function) = i + 1;
    u32 *slot = find_node(t, parent, function);
    if (!*slot) {
        add_node(t, parent, function);
        t->nodes.v[parent].is_parent = true;
        *slot = (u32)t->nodes.n;
        t->node_slots.used++;
    }
    return *slot - 1;
}

void tree_init(struct tree *t, const char *root)
{
    *t = (struct tree){0};
    add_node(t, TREE_NONE, tree_function(t, root, NULL, false));
}

void tree_fini(struct tree *t)
{
    vec_fini(&t->nodes);
    vec_fini(&t->functions);
    arena_fini(&t->names);
    free(t->node_slots.v);
    free(t->function_slots.v);
}

void tree_jumped(struct tree *t, u32 from, u32 to, u64 times)
{
    struct tree_node *x = &t->nodes.v[from];
    x->led_to_many |= x->led_to != TREE_NONE && x->led_to != to;
    x->led_to = to;
    x->left += times;
    t->nodes.v[to].calls += times;
}

/* -- Finishing ---------------------------------------------------------------------------------- */

void tree_add(struct tree_counts *to, const struct tree_counts *n)
{
    to->insns += n->insns;
    to->reads += n->reads;
    to->writes += n->writes;
    for (u32 k = 0; k < MISS_KINDS; k++)
        to->misses[k] += n->misses[k];
}

/* A jump table's entry and the like: it called nothing, and each time it was entered it was left by a jump, to the same function. */
static bool only_leads(const struct tree *t, const struct tree_node *x)
{
    return t->functions.v[x->function].is_code && !x->is_parent && x->left == x->calls &&
           x->led_to != TREE_NONE && !x->led_to_many;
}

/* The function that one which only leads on leads to in the end; TREE_NONE: none. */
static u32 end_of_leads(const struct tree *t, u32 node)
{
    u32 to = t->nodes.v[node].led_to;
    for (u32 steps = 0; steps < 16; steps++) {
        if (!only_leads(t, &t->nodes.v[to]))
            return to;
        to = t->nodes.v[to].led_to;
    }
    return TREE_NONE;
}

/* Those that are no nodes any more have TREE_NONE for a function. */
static void drop_leads(struct tree *t)
{
    VEC(u32) ends = {0};
    for (u32 i = 0; i < t->nodes.n; i++)
        vec_push(&ends, only_leads(t, &t->nodes.v[i]) ? end_of_leads(t, i) : TREE_NONE);
    for (u32 i = 0; i < t->nodes.n; i++)
        if (ends.v[i] != TREE_NONE) {
            tree_add(&t->nodes.v[ends.v[i]].self, &t->nodes.v[i].self);
            t->nodes.v[i].function = TREE_NONE;
        }
    vec_fini(&ends);
}

static void sum_up(struct tree *t)
{
    for (u32 i = 0; i < t->nodes.n; i++) {
        struct tree_node *x = &t->nodes.v[i];
        x->all = x->self;
        x->depth = i ? t->nodes.v[x->parent].depth + 1 : 0;
    }
    for (u32 i = (u32)t->nodes.n; i-- > 1;)
        if (t->nodes.v[i].function != TREE_NONE)
            tree_add(&t->nodes.v[t->nodes.v[i].parent].all, &t->nodes.v[i].all);
}

static int compare_texts(const char *a, const char *b)
{
    return a == b ? 0 : !a ? -1 : !b ? 1 : strcmp(a, b);
}

int tree_compare(const struct tree_function *a, const struct tree_function *b)
{
    int order = compare_texts(a->name, b->name);
    if (!order)
        order = compare_texts(a->module, b->module);
    return order ? order : a->is_code - b->is_code;
}

static int by_weight(const void *a, const void *b, void *tree)
{
    const struct tree *t = tree;
    const struct tree_node *x = &t->nodes.v[*(const u32 *)a], *y = &t->nodes.v[*(const u32 *)b];
    const struct tree_function *f = &t->functions.v[x->function], *g = &t->functions.v[y->function];
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->all.insns != y->all.insns)
        return x->all.insns > y->all.insns ? -1 : 1;
    return tree_compare(f, g);
}

static void order(struct tree *t)
{
    VEC(u32) nodes = {0};
    for (u32 i = 1; i < t->nodes.n; i++)
        if (t->nodes.v[i].function != TREE_NONE)
            vec_push(&nodes, i);
    if (nodes.n)
        qsort_r(nodes.v, nodes.n, sizeof *nodes.v, by_weight, t);
    for (size_t i = nodes.n; i-- > 0;) {
        struct tree_node *x = &t->nodes.v[nodes.v[i]], *parent = &t->nodes.v[x->parent];
        x->next = parent->child;
        parent->child = nodes.v[i];
    }
    vec_fini(&nodes);
}

void tree_finish(struct tree *t)
{
    drop_leads(t);
    sum_up(t);
    order(t);
}

u32 tree_next(const struct tree *t, u32 node)
{
    if (t->nodes.v[node].child != TREE_NONE)
        return t->nodes.v[node].child;
    while (node != TREE_ROOT && t->nodes.v[node].next == TREE_NONE)
        node = t->nodes.v[node].parent;
    return node == TREE_ROOT ? TREE_NONE : t->nodes.v[node].next;
}
