/* SPDX-License-Identifier: MIT */
/* Addresses to functions, each address once. */
#include "analyze/naming.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

static int compare_texts(const char *a, const char *b)
{
    return a == b ? 0 : !a ? -1 : !b ? 1 : strcmp(a, b);
}

static int by_place(const void *a, const void *b)
{
    const struct named_place *x = a, *y = b;
    int order = compare_texts(x->module, y->module);
    return order ? order : x->offset < y->offset ? -1 : x->offset > y->offset;
}

static struct named_place place_of(const struct source *s)
{
    return (struct named_place){s->module ? s->module->path : NULL, s->offset};
}

static int by_address(const void *a, const void *b)
{
    const u64 x = *(const u64 *)a, y = *(const u64 *)b;
    return x < y ? -1 : x > y;
}

static size_t sort_addresses(u64 *v, size_t n)
{
    size_t kept = 0;
    if (n)
        qsort(v, n, sizeof *v, by_address);
    for (size_t i = 0; i < n; i++)
        if (!kept || v[kept - 1] != v[i])
            v[kept++] = v[i];
    return kept;
}

static bool is_code(const struct context *x)
{
    return x->parent != CONTEXT_NONE && !x->signal;
}

/* That a thread began somewhere is no call. */
void naming_add(struct naming *n, u32 memory, const struct contexts *c)
{
    VEC(u64) pcs = {0};
    for (size_t i = 0; i < c->v.n; i++) {
        const struct context *x = &c->v.v[i];
        if (is_code(x) && x->calls && c->v.v[x->parent].parent != CONTEXT_NONE)
            vec_push(&pcs, x->pc);
    }
    pcs.n = sort_addresses(pcs.v, pcs.n);
    for (size_t i = 0; i < pcs.n; i++) {
        struct source s = sources_find(n->sources, memory, pcs.v[i]);
        vec_push(&n->called, place_of(&s));
    }
    vec_fini(&pcs);
}

/* The last that was called before x, or there; NULL if there is none. */
static const struct named_place *called_before(const struct naming *n, const struct named_place *x)
{
    size_t from = 0, to = n->called.n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (by_place(&n->called.v[middle], x) <= 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from ? &n->called.v[from - 1] : NULL;
}

/* Code without a name belongs to the function that begins before it in the file, or to what was called last before it in the same module, whichever is
 * nearer: to a file, all entries of a linkage table may be one function. */
static u32 nameless(struct naming *n, const struct source *s)
{
    char text[32];
    struct named_place x = place_of(s);
    const struct named_place *before = called_before(n, &x);
    if (s->has_beginning)
        x.offset = s->beginning;
    if (before && !compare_texts(before->module, x.module) && (!s->has_beginning || before->offset > x.offset))
        x.offset = before->offset;
    snprintf(text, sizeof text, "0x%lx", (unsigned long)x.offset);
    return tree_function(n->tree, text, x.module, true);
}

/* What a compiler moved out of a function, as it is seldom needed, is still part of it. */
static u32 function_at(struct naming *n, u64 pc)
{
    struct source s = sources_find(n->sources, n->memory, pc);
    if (!s.at.function)
        return nameless(n, &s);
    const char *cold = strstr(s.at.function, ".cold");
    char *name = strdup(s.at.function);
    check(name != NULL);
    if (cold && cold != s.at.function)
        name[cold - s.at.function] = 0;
    u32 f = tree_function(n->tree, name, s.module->path, false);
    free(name);
    return f;
}

void naming_begin(struct naming *n, u32 memory, const struct contexts *c)
{
    if (n->called.n && !n->is_sorted)
        qsort(n->called.v, n->called.n, sizeof *n->called.v, by_place);
    n->is_sorted = true;
    n->memory = memory;
    n->pcs.n = n->functions.n = 0;
    for (size_t i = 0; i < c->v.n; i++)
        if (is_code(&c->v.v[i]))
            vec_push(&n->pcs, c->v.v[i].pc);
    n->pcs.n = sort_addresses(n->pcs.v, n->pcs.n);
    for (size_t i = 0; i < n->pcs.n; i++)
        vec_push(&n->functions, function_at(n, n->pcs.v[i]));
}

u32 naming_function(const struct naming *n, u64 pc)
{
    const u64 *at = bsearch(&pc, n->pcs.v, n->pcs.n, sizeof *n->pcs.v, by_address);
    return n->functions.v[at - n->pcs.v];
}

void naming_init(struct naming *n, struct tree *t, struct sources *s)
{
    *n = (struct naming){.tree = t, .sources = s};
}

void naming_fini(struct naming *n)
{
    vec_fini(&n->called);
    vec_fini(&n->pcs);
    vec_fini(&n->functions);
}
