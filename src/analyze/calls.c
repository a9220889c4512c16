/* SPDX-License-Identifier: MIT */
/* The analysis `calls`: the tree of calling contexts. Contexts are told apart by addresses while the program is watched; at the end they
 * get the names of functions, and those that are parts of one function become one. */
#include "analyze/analysis.h"
#include "analyze/context_misses.h"
#include "analyze/frames.h"
#include "analyze/merger.h"
#include "analyze/naming.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STACK_TEXT_FRAMES = 256 /* the innermost, of a longer one */ };

struct calls {
    bool threads, stacks, merges;
    double least; /* percent of all instructions that a row of the tree has */
    VEC(struct calls_memory *) memories; /* of one trace */
    struct merger merger;
    struct context_misses misses;
};

struct calls_memory {
    struct calls *calls;
    u32 number;
    struct stack_scripts scripts;
    struct frames frames;
    struct context_misses_memory *misses; /* NULL: nobody asks */
};

struct calls_work {
    u32 thread;
    struct moves moves;
    struct context_misses_work *misses;
};

/* -- The study ---------------------------------------------------------------------------------- */

static void *calls_make(void)
{
    struct calls *c = zeros(1, sizeof *c);
    c->least = 1.0;
    merger_init(&c->merger);
    context_misses_init(&c->misses);
    return c;
}

static int calls_set(void *calls, const char *option, const char *value, struct err *e)
{
    struct calls *c = calls;
    char *end;
    const int given = context_misses_set(&c->misses, option, value, e);
    if (given <= 0)
        return given;
    if (!strcmp(option, "threads"))
        c->threads = true;
    else if (!strcmp(option, "merge"))
        c->merges = true;
    else if (!strcmp(option, "stacks"))
        c->stacks = true;
    else {
        c->least = strtod(value, &end);
        if (end == value || *end || !isfinite(c->least) || c->least < 0.0 || c->least > 100.0)
            return err_set(e, "wants a number of percent, not %s", value);
    }
    return 0;
}

static int calls_begin(void *calls, u32 workers, struct err *e)
{
    struct calls *c = calls;
    (void)workers;
    return context_misses_begin(&c->misses, e) ? -1 : 1;
}

static void forget_memories(struct calls *c)
{
    for (size_t i = 0; i < c->memories.n; i++) {
        contexts_fini(&c->memories.v[i]->frames.contexts);
        free(c->memories.v[i]);
    }
    vec_fini(&c->memories);
}

static void calls_drop(void *calls)
{
    struct calls *c = calls;
    forget_memories(c);
    merger_fini(&c->merger);
    context_misses_fini(&c->misses);
    free(c);
}

/* -- Events ------------------------------------------------------------------------------------- */

static void *calls_memory(void *calls, u32 number, const struct unit_table *t)
{
    struct calls_memory *m = zeros(1, sizeof *m);
    m->calls = calls;
    m->number = number;
    stack_scripts_init(&m->scripts, t);
    callers_init(&m->frames.callers);
    m->misses = context_misses_memory(&m->calls->misses, number, t);
    return m;
}

static void *calls_work(void *memory)
{
    struct calls_memory *m = memory;
    struct calls_work *w = zeros(1, sizeof *w);
    moves_init(&w->moves, &m->scripts);
    w->misses = context_misses_work(m->misses);
    return w;
}

static void calls_open(void *work, u32 thread)
{
    struct calls_work *w = work;
    w->thread = thread;
    moves_reset(&w->moves);
    context_misses_open(w->misses, thread);
}

static void calls_add(void *work, const struct events *e)
{
    struct calls_work *w = work;
    moves_add(&w->moves, e);
    context_misses_add(w->misses, e);
}

static void calls_close(void *work)
{
    struct calls_work *w = work;
    context_misses_close(w->misses);
}

static void calls_take(void *memory, void *work, u32 part)
{
    struct calls_memory *m = memory;
    struct calls_work *w = work;
    (void)part;
    context_misses_take(w->misses, &w->moves);
    frames_take(&m->frames, w->thread, &w->moves);
}

static void calls_merge(void *memory, void *work)
{
    struct calls_work *w = work;
    (void)memory;
    moves_fini(&w->moves);
    context_misses_merge(w->misses);
    free(w);
}

static void calls_mapped(void *memory, const struct trace_mapped *mapped)
{
    struct calls_memory *m = memory;
    m->frames.callers.mapped = mapped;
}

/* What is left of it are its contexts. */
static void calls_end(void *memory)
{
    struct calls_memory *m = memory;
    frames_end(&m->frames);
    stack_scripts_fini(&m->scripts);
    context_misses_end(m->misses);
    vec_push(&m->calls->memories, m);
}

/* -- The tree ----------------------------------------------------------------------------------- */

static u32 special_function(struct tree *t, const char *what, u64 number)
{
    char text[64];
    snprintf(text, sizeof text, "[%s %lu]", what, (unsigned long)number);
    return tree_function(t, text, NULL, false);
}

static u32 function_of(struct naming *n, const struct context *x)
{
    if (x->signal)
        return special_function(n->tree, "signal", x->signal);
    if (!x->pc)
        return tree_function(n->tree, "[not recorded]", NULL, false);
    return naming_function(n, x->pc);
}

static u32 node_of(const struct calls *c, struct naming *n, const struct context *x,
                   const u32 *nodes)
{
    if (x->parent != CONTEXT_NONE)
        return tree_child(n->tree, nodes[x->parent], function_of(n, x));
    return c->threads ? tree_child(n->tree, TREE_ROOT, special_function(n->tree, "thread", x->pc))
                      : (u32)TREE_ROOT;
}

/* Enter a memory's contexts; how many threads it had. */
static u64 enter_contexts(const struct calls *c, struct naming *n, const struct contexts *from)
{
    u32 *nodes = zeros(from->v.n, sizeof *nodes);
    u64 threads = 0;
    for (size_t i = 0; i < from->v.n; i++) {
        const struct context *x = &from->v.v[i];
        nodes[i] = node_of(c, n, x, nodes);
        struct tree_node *to = &n->tree->nodes.v[nodes[i]];
        to->calls += x->calls;
        struct tree_counts self = {.insns = x->self.insns, .reads = x->self.reads, .writes = x->self.writes};
        memcpy(self.misses, x->misses, sizeof self.misses);
        tree_add(&to->self, &self);
        threads += x->parent == CONTEXT_NONE;
    }
    for (size_t i = 0; i < from->v.n; i++)
        for (u32 j = from->v.v[i].jumps; j != CONTEXT_NONE; j = from->jumps.v[j].next)
            if (nodes[i] != nodes[from->jumps.v[j].to])
                tree_jumped(n->tree, nodes[i], nodes[from->jumps.v[j].to], from->jumps.v[j].count);
    free(nodes);
    return threads;
}

/* -- Results ------------------------------------------------------------------------------------ */

/* A function, wherever it was called. */
struct row {
    u32 function;
    u32 open; /* nodes of it on the way from the root */
    u64 calls;
    struct tree_counts self, all;
};

/* What a function called itself for is counted once. */
static struct row *rows_of(const struct tree *t)
{
    struct row *rows = zeros(t->functions.n, sizeof *rows);
    VEC(u32) path = {0};
    for (u32 i = 0; i < t->functions.n; i++)
        rows[i].function = i;
    for (u32 i = TREE_ROOT; i != TREE_NONE; i = tree_next(t, i)) {
        const struct tree_node *x = &t->nodes.v[i];
        for (; path.n > x->depth; path.n--)
            rows[path.v[path.n - 1]].open--;
        struct row *r = &rows[x->function];
        r->calls += x->calls;
        tree_add(&r->self, &x->self);
        if (!r->open++)
            tree_add(&r->all, &x->all);
        vec_push(&path, x->function);
    }
    vec_fini(&path);
    return rows;
}

static int by_self(const void *a, const void *b, void *tree)
{
    const struct row *x = a, *y = b;
    const struct tree_function *f = ((const struct tree *)tree)->functions.v;
    if (x->self.insns != y->self.insns)
        return x->self.insns > y->self.insns ? -1 : 1;
    if (x->all.insns != y->all.insns)
        return x->all.insns > y->all.insns ? -1 : 1;
    return tree_compare(&f[x->function], &f[y->function]);
}

static const char *const miss_names[2][MISS_KINDS] = {{"i1_misses", "d1_misses", "ll_misses"}, {"self_i1_misses", "self_d1_misses", "self_ll_misses"}};
static const char *const miss_texts[2][MISS_KINDS] = {
    {"misses of the first level for code, with what it called", "... for data", "misses of the last level"}, {NULL, NULL, NULL}};
static const char *const miss_titles[MISS_KINDS] = {"misses of the first level for code", "misses of the first level for data", "misses of the last level"};

static void add_miss_columns(const struct calls *k, struct table *t, bool self)
{
    for (u32 i = 0; k->misses.wanted && i < MISS_KINDS; i++)
        table_add_column(t, CELL_count, miss_names[self][i], miss_texts[self][i]);
}

static void add_columns(const struct calls *k, struct table *t)
{
    table_add_column(t, CELL_percent, "percent", "of all instructions, with what it called");
    table_add_column(t, CELL_count, "calls", "times entered");
    table_add_column(t, CELL_count, "insns", "instructions, with what it called");
    table_add_column(t, CELL_count, "reads", NULL);
    table_add_column(t, CELL_count, "writes", NULL);
    add_miss_columns(k, t, false);
    table_add_column(t, CELL_count, "self_insns", "instructions of its own");
    table_add_column(t, CELL_count, "self_reads", NULL);
    table_add_column(t, CELL_count, "self_writes", NULL);
    add_miss_columns(k, t, true);
    table_add_column(t, CELL_text, "function", NULL);
    table_add_column(t, CELL_text, "module", NULL);
}

static double percent_of(u64 n, u64 all)
{
    return all ? 100.0 * (double)n / (double)all : 0.0;
}

static union cell *put_tree_counts(const struct calls *k, union cell *c, const struct tree_counts *n)
{
    (c++)->count = n->insns;
    (c++)->count = n->reads;
    (c++)->count = n->writes;
    for (u32 i = 0; k->misses.wanted && i < MISS_KINDS; i++)
        (c++)->count = n->misses[i];
    return c;
}

static union cell *put_counts(const struct calls *k, union cell *c, u64 calls, const struct tree_counts *all,
                              const struct tree_counts *self, double percent)
{
    (c++)->number = percent;
    (c++)->count = calls;
    c = put_tree_counts(k, c, all);
    return put_tree_counts(k, c, self);
}

static union cell *put_function(union cell *c, struct table *t, const struct tree_function *f)
{
    (c++)->text = result_text(t->result, f->name);
    (c++)->text = result_text(t->result, f->module);
    return c;
}

static void add_functions(const struct calls *k, const struct tree *t, struct result *r)
{
    struct table *x = result_table(r, TABLE_rows, "functions", "functions");
    struct row *rows = rows_of(t);
    u64 all = t->nodes.v[TREE_ROOT].all.insns;
    qsort_r(rows, t->functions.n, sizeof *rows, by_self, (void *)t);
    add_columns(k, x);
    for (size_t i = 0; i < t->functions.n; i++) {
        const struct row *w = &rows[i];
        if (!w->calls && !w->self.insns) /* the root, threads, and what has become part of others */
            continue;
        union cell *c = table_cells(x);
        c = put_counts(k, c, w->calls, &w->all, &w->self, percent_of(w->all.insns, all));
        put_function(c, x, &t->functions.v[w->function]);
    }
    free(rows);
}

/* root;caller;...;function, of one that is not too deep. */
static const char *stack_text(const struct tree *t, u32 node, struct result *r)
{
    const u32 depth = t->nodes.v[node].depth, n = MIN(depth, (u32)STACK_TEXT_FRAMES);
    size_t size = n < depth ? 5 : 1;
    u32 at = node;
    for (u32 i = 0; i < n; i++, at = t->nodes.v[at].parent)
        size += strlen(t->functions.v[t->nodes.v[at].function].name) + 1;
    char *text = arena_alloc(&r->arena, size), *p = text + size - 1;
    *p = 0;
    at = node;
    for (u32 i = 0; i < n; i++, at = t->nodes.v[at].parent) {
        const char *name = t->functions.v[t->nodes.v[at].function].name;
        if (i)
            *--p = ';';
        p -= strlen(name);
        memcpy(p, name, strlen(name));
    }
    if (n < depth) {
        p -= 4;
        memcpy(p, "...;", 4);
    }
    return p;
}

static void add_tree(const struct calls *k, const struct tree *t, struct result *r)
{
    struct table *x = result_table(r, TABLE_tree, "tree", "who called whom");
    u64 all = t->nodes.v[TREE_ROOT].all.insns;
    table_add_column(x, CELL_count, "depth", NULL);
    add_columns(k, x);
    if (k->stacks)
        table_add_column(x, CELL_text, "stack", NULL);
    for (u32 i = TREE_ROOT; i != TREE_NONE; i = tree_next(t, i)) {
        const struct tree_node *n = &t->nodes.v[i];
        double percent = percent_of(n->all.insns, all);
        if (percent < k->least)
            continue;
        union cell *c = table_cells(x);
        (c++)->count = n->depth;
        c = put_counts(k, c, n->calls, &n->all, &n->self, percent);
        c = put_function(c, x, &t->functions.v[n->function]);
        if (k->stacks)
            c->text = stack_text(t, i, r);
    }
}

static void add_total(const struct calls *k, const struct tree *t, u64 threads, struct result *r)
{
    struct table *x = result_table(r, TABLE_facts, "total", "in all");
    const struct tree_counts *all = &t->nodes.v[TREE_ROOT].all;
    u64 calls = 0, contexts = 0, depth = 0;
    for (u32 i = tree_next(t, TREE_ROOT); i != TREE_NONE; i = tree_next(t, i)) {
        calls += t->nodes.v[i].calls;
        depth = MAX(depth, t->nodes.v[i].depth);
        contexts++;
    }
    fact_count(x, "insns", "instructions", all->insns);
    fact_count(x, "reads", "reads", all->reads);
    fact_count(x, "writes", "writes", all->writes);
    for (u32 i = 0; k->misses.wanted && i < MISS_KINDS; i++)
        fact_count(x, miss_names[0][i], miss_titles[i], all->misses[i]);
    fact_count(x, "calls", "functions entered", calls);
    fact_count(x, "contexts", "calling contexts", contexts);
    fact_count(x, "depth", "depth", depth);
    fact_count(x, "threads", "threads", threads);
}

/* The tree of what was seen of one trace or run; how many threads it had. */
static u64 make_tree(const struct calls *c, struct sources *s, struct tree *t)
{
    struct naming n;
    u64 threads = 0;
    tree_init(t, "[all]");
    naming_init(&n, t, s);
    for (size_t i = 0; i < c->memories.n; i++)
        naming_add(&n, c->memories.v[i]->number, &c->memories.v[i]->frames.contexts);
    for (size_t i = 0; i < c->memories.n; i++) {
        const struct contexts *from = &c->memories.v[i]->frames.contexts;
        naming_begin(&n, c->memories.v[i]->number, from);
        threads += enter_contexts(c, &n, from);
    }
    naming_fini(&n);
    tree_finish(t);
    return threads;
}

static bool calls_joins(const void *calls)
{
    const struct calls *c = calls;
    return c->merges;
}

static void calls_join(void *calls, struct sources *s)
{
    struct calls *c = calls;
    struct tree t;
    u64 threads = make_tree(c, s, &t);
    merger_add(&c->merger, &t, threads);
    tree_fini(&t);
    forget_memories(c);
}

static void add_tables(const struct calls *c, const struct tree *t, u64 threads, struct result *r)
{
    add_total(c, t, threads, r);
    add_functions(c, t, r);
    add_tree(c, t, r);
}

static void calls_finish(void *calls, struct sources *s, struct result *r)
{
    struct calls *c = calls;
    struct tree t;
    if (c->merges) {
        calls_join(c, s);
        tree_finish(&c->merger.tree);
        add_tables(c, &c->merger.tree, c->merger.threads, r);
        merger_coverage(&c->merger, r);
        return;
    }
    u64 threads = make_tree(c, s, &t);
    add_tables(c, &t, threads, r);
    tree_fini(&t);
}

static const struct analysis_option options[] = {
    {"min", "PERCENT", "of all instructions that a row of the tree has; else 1"},
    {"threads", NULL, "the tree of each thread apart"},
    {"stacks", NULL, "the whole stack in each row of the tree, as flame graphs are made of"},
    {"misses", NULL, "misses of caches, too: simulated as they are described, or the machine's own"},
    SHAPE_GIVEN_OPTIONS,
    {"merge", NULL, "one tree of several traces, and how much of the first the others have seen"},
    {0},
};

const struct analysis analysis_calls = {
    .name = "calls",
    .options = options,
    .wants_memory = true,
    .make = calls_make,
    .set = calls_set,
    .begin = calls_begin,
    .joins = calls_joins,
    .join = calls_join,
    .finish = calls_finish,
    .drop = calls_drop,
    .memory = calls_memory,
    .mapped = calls_mapped,
    .end = calls_end,
    .work = calls_work,
    .open = calls_open,
    .add = calls_add,
    .close = calls_close,
    .take = calls_take,
    .merge = calls_merge,
};
