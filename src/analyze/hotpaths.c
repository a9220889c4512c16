/* SPDX-License-Identifier: MIT */
/* The sequence to a grammar, the grammar to paths. */
#include "analyze/hotpaths.h"
#include "analyze/sequitur.h"
#include "base/err.h"
#include "wire/wire.h"

#include <stdlib.h>

struct finder {
    struct paths *paths;
    struct trace *trace;
    u32 thread; /* whose paths are being found */
    struct sequitur *sequitur;
    u32 *
        *terminals; /* by memory, then by exit: the terminal's number + 1; NULL where nothing ran */
    VEC(u32) odd;   /* terminals that are partial */
    u64 limit;
};

/* -- The sequence ------------------------------------------------------------------------------ */

static u32 new_terminal(struct finder *f, struct path_unit u)
{
    check(f->paths->units.n < GRAMMAR_RULE);
    vec_push(&f->paths->units, u);
    return (u32)f->paths->units.n - 1;
}

/* Units are seldom left in their middle: a list is enough. */
static u32 partial_terminal(struct finder *f, struct path_unit u)
{
    for (size_t i = 0; i < f->odd.n; i++) {
        const struct path_unit *x = &f->paths->units.v[f->odd.v[i]];
        if (x->memory == u.memory && x->unit == u.unit && x->insns == u.insns)
            return f->odd.v[i];
    }
    vec_push(&f->odd, new_terminal(f, u));
    return f->odd.v[f->odd.n - 1];
}

static u32 terminal_of(struct finder *f, const struct walk *w, u32 i)
{
    u32 memory = f->trace->processes.v[walk_process(w)].memory, id = w->batch->exit[i];
    struct run_of run = walk_run(w, i);
    struct path_unit u = {memory, run.unit, run.insns, id};
    if (id < FIRST_EXIT_ID)
        return partial_terminal(f, u);
    if (!f->terminals[memory]) {
        f->terminals[memory] = calloc(w->table->exits.n, sizeof **f->terminals);
        check(f->terminals[memory] != NULL);
    }
    u32 *known = &f->terminals[memory][id - FIRST_EXIT_ID];
    if (!*known)
        *known = new_terminal(f, u) + 1;
    return *known - 1;
}

static void put_batch(struct finder *f, const struct walk *w)
{
    struct paths *p = f->paths;
    for (u32 i = w->events.continues; i < w->batch->n_records; i++) {
        if (!walk_ran(w, i))
            continue;
        if (p->exits == f->limit) {
            p->limited = true;
            return;
        }
        sequitur_put(f->sequitur, terminal_of(f, w, i));
        p->exits++;
    }
}

static bool is_of_thread(void *finder, size_t piece)
{
    const struct finder *f = finder;
    return f->trace->pieces.v[piece].chunk.owner == f->thread;
}

static int put_thread(struct finder *f, u32 thread, struct err *e)
{
    struct walk w;
    int more = 0;
    walk_init(&w, f->trace);
    f->thread = thread;
    walk_where(&w, is_of_thread, f);
    while (!f->paths->limited && (more = walk_next(&w, e)) > 0)
        put_batch(f, &w);
    walk_fini(&w);
    return MIN(more, 0);
}

/* All threads: between two stands a terminal that comes only once, so that no rule spans both. */
static int put_threads(struct finder *f, u32 thread, struct err *e)
{
    if (thread != PATHS_ALL)
        return put_thread(f, thread, e);
    for (u32 i = 0; i < f->trace->threads.n && !f->paths->limited; i++) {
        if (put_thread(f, i, e))
            return -1;
        sequitur_put(f->sequitur, new_terminal(f, (struct path_unit){0}));
    }
    return 0;
}

/* -- The paths --------------------------------------------------------------------------------- */

u64 paths_weight(const struct paths *p, u32 symbol)
{
    return symbol < GRAMMAR_RULE ? p->units.v[symbol].insns : p->weights[symbol - GRAMMAR_RULE];
}

static void find_weights(struct paths *p)
{
    const struct grammar *g = &p->grammar;
    p->weights = calloc(g->rules.n, sizeof *p->weights);
    check(p->weights != NULL);
    for (size_t r = 0; r < g->rules.n; r++)
        for (u32 i = 0; i < g->rules.v[r].n; i++)
            p->weights[r] += paths_weight(p, g->symbols.v[g->rules.v[r].first + i]);
    p->instructions = p->weights[g->rules.n - 1];
}

/* What is known of a rule. Most repeat nothing but themselves. */
struct shape {
    u32 root;  /* the symbol that it only repeats */
    u64 times; /* ... and how often */
    u64 loops; /* instructions of it in repetitions, one directly behind the other */
};

/* How often a symbol is run. Rules stand first, then terminals. */
struct cutter {
    struct paths *paths;
    struct shape *shapes; /* of the rules */
    u64 *runs;
};

static struct shape shape_of(const struct cutter *c, u32 symbol)
{
    return symbol < GRAMMAR_RULE ? (struct shape){symbol, 1, 0} : c->shapes[symbol - GRAMMAR_RULE];
}

/* Neighbours in a body with the same root are one repetition; one alone has the loops that are in it. */
static struct shape find_shape(const struct cutter *c, size_t r)
{
    const struct paths *p = c->paths;
    const struct grammar_rule *rule = &p->grammar.rules.v[r];
    const u32 *body = p->grammar.symbols.v + rule->first;
    struct shape whole = {GRAMMAR_RULE + (u32)r, 1, 0};
    for (u32 i = 0, next; i < rule->n; i = next) {
        struct shape x = shape_of(c, body[i]);
        for (next = i + 1; next < rule->n && shape_of(c, body[next]).root == x.root; next++)
            x.times += shape_of(c, body[next]).times;
        if (x.times > 1)
            x.loops = x.times * paths_weight(p, x.root);
        if (!i && next == rule->n)
            return x;
        whole.loops += x.loops;
    }
    return whole;
}

static u64 *runs_of(const struct cutter *c, u32 symbol)
{
    return symbol < GRAMMAR_RULE ? &c->runs[c->paths->grammar.rules.n + symbol]
                                 : &c->runs[symbol - GRAMMAR_RULE];
}

/* Is a rule too long for a path, or more a loop than a path? */
static bool is_cut(const struct cutter *c, size_t r, u64 longest)
{
    return c->paths->grammar.rules.v[r].length > longest ||
           c->shapes[r].loops > c->paths->weights[r] / 2;
}

/* From the start rule down: a repetition is runs of its root; what is cut is runs of its symbols; all else is a path. */
static void cut_rules(struct cutter *c, u64 longest)
{
    const struct grammar *g = &c->paths->grammar;
    c->runs[g->rules.n - 1] = 1;
    for (size_t r = g->rules.n; r-- > 0;) {
        const struct shape *x = &c->shapes[r];
        u64 runs = c->runs[r];
        bool is_root = x->root == GRAMMAR_RULE + r;
        if (!runs || (is_root && !is_cut(c, r, longest)))
            continue;
        c->runs[r] = 0;
        if (!is_root)
            *runs_of(c, x->root) += runs * x->times;
        for (u32 i = 0; is_root && i < g->rules.v[r].n; i++)
            *runs_of(c, g->symbols.v[g->rules.v[r].first + i]) += runs;
    }
}

/* The most instructions first; among equals, the first to stand in the grammar. */
static int by_cover(const void *a, const void *b)
{
    const struct path *x = a, *y = b;
    u64 m = x->runs * x->instructions, n = y->runs * y->instructions;
    return m != n ? (m < n ? 1 : -1) : (x->symbol > y->symbol) - (x->symbol < y->symbol);
}

static void add_path(struct paths *p, u32 symbol, u64 units, u64 runs)
{
    u64 weight = paths_weight(p, symbol);
    if (runs && weight)
        vec_push(&p->v, ((struct path){symbol, units, weight, runs}));
}

static void list_paths(struct paths *p, u64 longest)
{
    const struct grammar *g = &p->grammar;
    struct cutter c = {p, calloc(g->rules.n, sizeof *c.shapes),
                       calloc(g->rules.n + p->units.n, sizeof *c.runs)};
    check(c.shapes && c.runs);
    for (size_t r = 0; r < g->rules.n; r++)
        c.shapes[r] = find_shape(&c, r);
    cut_rules(&c, longest);
    for (u32 r = 0; r < g->rules.n; r++)
        add_path(p, GRAMMAR_RULE + r, g->rules.v[r].length, c.runs[r]);
    for (u32 t = 0; t < p->units.n; t++)
        add_path(p, t, 1, c.runs[g->rules.n + t]);
    if (p->v.n)
        qsort(p->v.v, p->v.n, sizeof *p->v.v, by_cover);
    free(c.shapes);
    free(c.runs);
}

/* -- The whole --------------------------------------------------------------------------------- */

int paths_busiest(struct trace *t, u32 *thread, struct err *e)
{
    int bad = 0;
    u64 *n = calloc(MAX(t->threads.n, 1ul), sizeof *n);
    check(n != NULL);
    for (size_t i = 0; i < t->pieces.n && !bad; i++) {
        struct pack_head head = {0};
        bad = trace_head(t, i, &head, e);
        n[t->pieces.v[i].chunk.owner] += head.instructions;
    }
    *thread = 0;
    for (u32 i = 1; i < t->threads.n; i++)
        if (n[i] > n[*thread])
            *thread = i;
    free(n);
    return bad;
}

static void finder_fini(struct finder *f)
{
    for (size_t i = 0; i < f->trace->units.n; i++)
        free(f->terminals[i]);
    free(f->terminals);
    vec_fini(&f->odd);
    sequitur_free(f->sequitur);
}

int paths_find(struct paths *p, struct trace *t, u32 thread, u64 longest, u64 limit, struct err *e)
{
    *p = (struct paths){0};
    struct finder f = {.paths = p, .trace = t, .sequitur = sequitur_new(), .limit = limit};
    f.terminals = calloc(MAX(t->units.n, 1ul), sizeof *f.terminals);
    check(f.terminals != NULL);
    int bad = put_threads(&f, thread, e);
    if (!bad) {
        sequitur_grammar(f.sequitur, &p->grammar);
        find_weights(p);
        list_paths(p, longest);
    }
    finder_fini(&f);
    return bad;
}

void paths_fini(struct paths *p)
{
    grammar_fini(&p->grammar);
    vec_fini(&p->units);
    vec_fini(&p->v);
    free(p->weights);
    p->weights = NULL;
}
