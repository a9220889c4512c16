/* SPDX-License-Identifier: MIT */
/* Strands that go through the same loops are put together, round by round; then each is one round of the loop around that. */
#include "analyze/interleave.h"
#include "base/err.h"

#include <stdlib.h>

static int compare(u64 a, u64 b)
{
    return a < b ? -1 : a > b;
}

/* The deepest first; those with the same loops together, as they begin. */
static int by_loops(const void *a, const void *b)
{
    const struct strand *x = a, *y = b;
    int order = compare(y->depth, x->depth);
    for (u32 i = 0; i < x->depth && !order; i++) {
        order = compare(x->loop[i].count, y->loop[i].count);
        if (!order)
            order = compare(x->loop[i].stride, y->loop[i].stride);
    }
    if (!order)
        order = compare(x->first, y->first);
    return order ? order : compare(x->address, y->address);
}

static bool same_loops(const struct strand *a, const struct strand *b)
{
    for (u32 i = 0; i < a->depth && a->depth == b->depth; i++)
        if (a->loop[i].count != b->loop[i].count || a->loop[i].stride != b->loop[i].stride)
            return false;
    return a->depth == b->depth;
}

static u64 rounds(const struct strand *s)
{
    u64 n = 1;
    for (u32 i = 0; i < s->depth; i++)
        n *= s->loop[i].count;
    return n;
}

/* The strands from the first on that have its loops, and are within one round of it, one behind the other. */
static size_t group_of(const struct strand *s, size_t n)
{
    size_t k = 1;
    const u64 end = s->first + s->loop[0].stride;
    while (k < n && same_loops(s, &s[k]) && s[k].first >= s[k - 1].first + s[k - 1].length &&
           s[k].first + s[k].length <= end)
        k++;
    return k;
}

/* A group that is being put together. */
struct group {
    struct strand *of; /* as they begin */
    u8 *done;          /* by strand: it is part of `all` */
    struct strand all;
};

static void attach(struct group *g, size_t k, struct data_streams *to)
{
    const struct strand *s = &g->of[k];
    struct data_stream d = {.primary = g->all, .secondary = *s, .pk = g->all.refs, .sk = s->refs};
    for (size_t i = 0; i < k; i++)
        d.pp += g->done[i] ? g->of[i].refs : 0;
    g->done[k] = 1;
    g->all.is_ds = true;
    g->all.data = (u32)to->of.n;
    g->all.refs += s->refs;
    d.refs = g->all.refs * rounds(s);
    vec_push(&to->of, d);
}

/* Put a group together, into its first strand: as they begin, but those of one array together. */
static void compose(struct strand *s, size_t n, struct data_streams *to)
{
    struct group g = {.of = s, .done = calloc(n, 1), .all = s[0]};
    check(g.done != NULL);
    g.done[0] = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n; k++)
            if (!g.done[k] && s[k].address == s[i].address)
                attach(&g, k, to);
    g.all.length = s[n - 1].first + s[n - 1].length - s[0].first;
    s[0] = g.all;
    free(g.done);
}

/* All rounds of its innermost loop become one of the loop around it. */
static void lift(struct strand *s)
{
    s->length += (s->loop[0].count - 1) * s->loop[0].stride;
    s->refs *= s->loop[0].count;
    s->loop++;
    s->depth--;
}

void interleave(struct strand *s, size_t n, struct data_streams *to)
{
    for (u32 depth = DESCRIPTOR_DEPTH; depth > 0 && n; depth--) {
        size_t kept = 0;
        qsort(s, n, sizeof *s, by_loops);
        for (size_t i = 0, k; i < n; i += k) {
            k = s[i].depth == depth ? group_of(&s[i], n - i) : 1;
            if (s[i].depth == depth) {
                compose(&s[i], k, to);
                lift(&s[i]);
            }
            s[kept++] = s[i];
        }
        n = kept;
    }
}
