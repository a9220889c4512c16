/* SPDX-License-Identifier: MIT */
/* Trees of several traces, node by node. */
#include "analyze/merger.h"

#include <stdlib.h>

void merger_init(struct merger *m)
{
    *m = (struct merger){0};
    tree_init(&m->tree, "[all]");
}

void merger_fini(struct merger *m)
{
    tree_fini(&m->tree);
    vec_fini(&m->nodes);
}

/* What only led on to others is part of them already: all that is left are functions, whether they have names of their own or not. */
static u32 node_of(struct merger *m, const struct tree *t, u32 node, const u32 *nodes)
{
    const struct tree_node *x = &t->nodes.v[node];
    const struct tree_function *f = &t->functions.v[x->function];
    if (node == TREE_ROOT)
        return TREE_ROOT;
    return tree_child(&m->tree, nodes[x->parent], tree_function(&m->tree, f->name, f->module, false));
}

static void mark(struct merger *m, u32 node, const struct tree_node *x)
{
    vec_reach(&m->nodes, node);
    struct merged *to = &m->nodes.v[node];
    if (!m->traces) {
        to->is_in_first = true;
        to->insns += x->self.insns;
    } else if (!to->other) {
        to->other = m->traces;
    }
}

void merger_add(struct merger *m, const struct tree *t, u64 threads)
{
    u32 *nodes = zeros(t->nodes.n, sizeof *nodes);
    for (u32 i = TREE_ROOT; i != TREE_NONE; i = tree_next(t, i)) {
        const struct tree_node *x = &t->nodes.v[i];
        nodes[i] = node_of(m, t, i, nodes);
        struct tree_node *to = &m->tree.nodes.v[nodes[i]];
        to->calls += x->calls;
        tree_add(&to->self, &x->self);
        mark(m, nodes[i], x);
    }
    m->traces++;
    m->threads += threads;
    free(nodes);
}

static double percent(u64 n, u64 of)
{
    return of ? 100.0 * (double)n / (double)of : 0.0;
}

/* The root is in all of them, and does not count. */
static void cover(const struct merger *m, u32 trace, struct table *t)
{
    u64 all = 0, seen = 0, insns = 0, seen_insns = 0, new = 0;
    for (size_t i = TREE_ROOT + 1; i < m->tree.nodes.n; i++) {
        const struct merged *x = &m->nodes.v[i];
        bool is_seen = x->other && x->other <= trace;
        all += x->is_in_first;
        seen += x->is_in_first && is_seen;
        insns += x->insns;
        seen_insns += is_seen ? x->insns : 0;
        new += !x->is_in_first && is_seen;
    }
    table_row(t, (u64)trace, seen, all, percent(seen, all), percent(seen_insns, insns), new);
}

void merger_coverage(const struct merger *m, struct result *r)
{
    struct table *t = result_table(r, TABLE_series, "coverage", "contexts of the first trace that the others have seen");
    table_add_column(t, CELL_count, "traces", "together, beside the first");
    table_add_column(t, CELL_count, "seen", "contexts of the first that they have");
    table_add_column(t, CELL_count, "contexts", "of the first");
    table_add_column(t, CELL_percent, "percent", "of these");
    table_add_column(t, CELL_percent, "percent_insns", "of the first's instructions, which ran in contexts that were seen");
    table_add_column(t, CELL_count, "new", "contexts that the first does not have");
    for (u32 i = 1; i < m->traces; i++)
        cover(m, i, t);
}
