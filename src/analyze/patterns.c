/* SPDX-License-Identifier: MIT */
/* The analysis `patterns`: how each static reference goes through memory, in descriptors of regular sections.
 *
 * The streams are in parts by the numbers of their static references, so that several threads lead them on at the same time. A work holds the
 * references of a stretch, those of one part together. */
#include "analyze/analysis.h"
#include "analyze/listing.h"
#include "analyze/shapes.h"

#include <errno.h>
#include <stdlib.h>

enum {
    WINDOW = 8,
    MERGED_WINDOW = 64,
    WINDOW_LIMIT = 1024,
    KEEP = 16,
    MERGED_KEEP = 1000,
    KEEP_LIMIT = 1 << 20,
    /* References whose streams are fetched before they are needed: their heads, and then where the next one waits. */
    HEADS_AHEAD = 48,
    ENDS_AHEAD = 20,
};

struct patterns {
    struct findings_rules rules;
    bool merged;
    u32 parts;
    const char *list_to; /* a file for all references; NULL: none */
    FILE *list;
    struct variables *variables;
    VEC(struct pattern_memory *) memories;
};

/* Those of a work that are of one part. */
struct share {
    VEC(struct aimed) of; /* merged: `place` is a type */
};

struct list {
    struct pattern_memory *memory;
    u32 thread;
    u32 n; /* references */
    struct share *shares;
    struct static_uses uses;
    struct variable_work variables;
};

/* -- The study ---------------------------------------------------------------------------------- */

static void *patterns_make(void)
{
    struct patterns *p = zeros(1, sizeof *p);
    p->rules.detector.depth = DESCRIPTOR_DEPTH - 1;
    p->rules.detector.done = findings_done;
    p->rules.detector.done_ones = findings_done_ones;
    p->variables = variables_new();
    return p;
}

static int set_number(u32 *n, const char *value, u32 least, u32 most, struct err *e)
{
    char *end;
    errno = 0;
    u64 x = strtoull(value, &end, 10);
    if (errno || *end || end == value || *value == '-' || x < least || x > most)
        return err_set(e, "is a number from %u to %u, not %s", least, most, value);
    *n = (u32)x;
    return 0;
}

static int patterns_set(void *patterns, const char *option, const char *value, struct err *e)
{
    struct patterns *p = patterns;
    if (!strcmp(option, "window"))
        return set_number(&p->rules.detector.window, value, 3, WINDOW_LIMIT, e);
    if (!strcmp(option, "depth"))
        return set_number(&p->rules.detector.depth, value, 0, DESCRIPTOR_DEPTH - 1, e);
    if (!strcmp(option, "keep"))
        return set_number(&p->rules.keep, value, 1, KEEP_LIMIT, e);
    if (!strcmp(option, "merged"))
        p->merged = true;
    else if (!strcmp(option, "unordered"))
        p->rules.detector.unordered = true;
    else
        p->rules.check = true;
    if (!strcmp(option, "expand-to"))
        p->list_to = value;
    return 0;
}

static int patterns_begin(void *patterns, u32 workers, struct err *e)
{
    struct patterns *p = patterns;
    if (!p->rules.detector.window)
        p->rules.detector.window = p->merged ? MERGED_WINDOW : WINDOW;
    if (!p->rules.keep)
        p->rules.keep = p->merged ? MERGED_KEEP : KEEP;
    if (p->rules.check && p->rules.detector.unordered)
        return err_set(e, "--unordered forgets the order of references: they cannot be expanded");
    p->rules.all = p->list_to;
    p->list = p->list_to ? fopen(p->list_to, "w") : NULL;
    if (p->list_to && !p->list)
        return err_set(e, "cannot open %s: %s", p->list_to, strerror(errno));
    p->parts = p->merged ? 1 : workers;
    return (int)p->parts;
}

static void patterns_drop(void *patterns)
{
    struct patterns *p = patterns;
    for (size_t i = 0; i < p->memories.n; i++) {
        struct pattern_memory *m = p->memories.v[i];
        for (u32 k = 0; k < m->n_parts; k++) {
            streams_fini(&m->parts[k]);
            aims_fini(&m->aims[k]);
        }
        statics_fini(&m->statics);
        free(m->aims);
        free(m->parts);
        free(m);
    }
    vec_fini(&p->memories);
    variables_free(p->variables);
    free(p);
}

static void *patterns_memory(void *patterns, u32 number, const struct unit_table *t)
{
    struct patterns *p = patterns;
    struct pattern_memory *m = zeros(1, sizeof *m);
    *m = (struct pattern_memory){.number = number, .merged = p->merged, .n_parts = p->parts};
    m->parts = zeros(p->parts, sizeof *m->parts);
    m->aims = zeros(p->parts, sizeof *m->aims);
    m->variables = variables_memory(p->variables, number, t, p->parts);
    for (u32 k = 0; k < p->parts; k++) {
        streams_init(&m->parts[k], &p->rules, k, p->parts);
        aims_init(&m->aims[k], variables_part(m->variables, k));
    }
    statics_init(&m->statics, t);
    vec_push(&p->memories, m);
    return m;
}

static void patterns_mapped(void *memory, const struct trace_mapped *mapped)
{
    struct pattern_memory *m = memory;
    variables_mapped(m->variables, mapped);
}

static void patterns_end(void *memory)
{
    struct pattern_memory *m = memory;
    for (u32 k = 0; k < m->n_parts; k++) {
        streams_end(&m->parts[k]);
        aims_end(&m->aims[k]);
    }
    variables_end(m->variables);
}

/* -- Works -------------------------------------------------------------------------------------- */

static void *patterns_work(void *memory)
{
    struct list *l = zeros(1, sizeof *l);
    l->memory = memory;
    l->shares = zeros(l->memory->n_parts, sizeof *l->shares);
    return l;
}

static void patterns_open(void *list, u32 thread)
{
    struct list *l = list;
    variables_open(&l->variables, thread);
    l->thread = thread;
    l->n = 0;
    for (u32 k = 0; k < l->memory->n_parts; k++)
        l->shares[k].of.n = 0;
}

static u32 ref_of(const struct batch *b, u32 j)
{
    return b->ref[j] & BATCH_ODD ? b->odd[b->ref[j] & ~BATCH_ODD].ref : b->ref[j];
}

static struct static_use use_of_odd(struct list *l, const struct batch *b, u32 j)
{
    const u32 ref = ref_of(b, j);
    if (ref >= l->uses.of.n)
        statics_copy(&l->memory->statics, &l->uses);
    return statics_sized(&l->memory->statics, ref, b->odd[b->ref[j] & ~BATCH_ODD].size);
}

static inline struct static_use use_of(struct list *l, const struct batch *b, u32 j)
{
    const u32 ref = b->ref[j];
    if (ref & BATCH_ODD)
        return use_of_odd(l, b, j);
    if (ref >= l->uses.of.n)
        statics_copy(&l->memory->statics, &l->uses);
    return l->uses.of.v[ref];
}

static void add_merged(struct list *l, const struct batch *b)
{
    struct aimed *to = vec_grow(&l->shares->of, b->n_refs);
    for (u32 j = 0; j < b->n_refs; j++) {
        struct static_use u = use_of(l, b, j);
        to[j] = (struct aimed){.address = b->addr[j], .index = u.number, .place = u.type};
    }
}

static inline void fetch_use(const struct list *l, const struct batch *b, u32 j)
{
    const u32 ref = b->ref[j + 8] & ~BATCH_ODD; /* there are as many behind the last */
    __builtin_prefetch(&l->uses.of.v[ref]);
}

/* All in one part, which is the first: no need to divide. */
static void add_alone(struct list *l, const struct batch *b)
{
    struct aimed *to = vec_grow(&l->shares->of, b->n_refs);
    for (u32 j = 0; j < b->n_refs; j++) {
        fetch_use(l, b, j);
        to[j] = (struct aimed){b->addr[j], use_of(l, b, j).number, ref_of(b, j), l->n + j};
    }
}

static void add_shares(struct list *l, const struct batch *b)
{
    const u32 parts = l->memory->n_parts;
    for (u32 j = 0; j < b->n_refs; j++) {
        fetch_use(l, b, j);
        const u32 number = use_of(l, b, j).number;
        vec_push(&l->shares[number % parts].of,
                 ((struct aimed){b->addr[j], number / parts, ref_of(b, j), l->n + j}));
    }
}

static void patterns_add(void *list, const struct events *e)
{
    struct list *l = list;
    variables_add(&l->variables, e);
    if (l->memory->merged)
        add_merged(l, e->batch);
    else
        (l->memory->n_parts == 1 ? add_alone : add_shares)(l, e->batch);
    l->n += e->batch->n_refs;
}

/* Few of the streams that a work comes to are in the cache. */
static inline void fetch(const struct stream_thread *t, const struct aimed *x, size_t i, size_t n)
{
    const struct stream_head *far = stream_known(t, x[MIN(i + HEADS_AHEAD, n - 1)].index),
                             *near = stream_known(t, x[MIN(i + ENDS_AHEAD, n - 1)].index);
    if (far)
        __builtin_prefetch(far, 1);
    if (near)
        __builtin_prefetch(near->waiting + near->n_waiting, 1);
}

static void put_share(const struct list *l, struct streams *s, struct aims *a,
                      struct stream_thread *t)
{
    const struct aimed *x = l->shares[s->part].of.v;
    const size_t n = l->shares[s->part].of.n;
    const bool sighted = l->variables.sightings.v.n; /* something is allocated or freed */
    for (size_t i = 0; i < n; i++) {
        fetch(t, x, i, n);
        struct stream_head *h = streams_head(s, t, x[i].index);
        if (sighted)
            variables_until(a->variables, x[i].place);
        aims_put(a, &h->latest, &x[i]);
        streams_put(s, t, h, x[i].index, x[i].address, t->refs + x[i].place);
    }
}

static void put_merged(const struct list *l, struct streams *s, struct stream_thread *t)
{
    const struct aimed *x = l->shares->of.v;
    for (size_t i = 0; i < l->n; i++)
        streams_put_merged(s, t, x[i].address, x[i].place, x[i].index);
}

static void patterns_take(void *memory, void *list, u32 part)
{
    struct pattern_memory *m = memory;
    const struct list *l = list;
    struct streams *s = &m->parts[part];
    struct stream_thread *t = streams_thread(s, l->thread);
    struct variable_part *v = variables_take(m->variables, part, &l->variables);
    if (m->merged)
        put_merged(l, s, t);
    else
        put_share(l, s, &m->aims[part], t);
    variables_taken(v);
    t->refs += l->n;
}

static void patterns_merge(void *memory, void *list)
{
    struct list *l = list;
    (void)memory;
    for (u32 k = 0; k < l->memory->n_parts; k++)
        vec_fini(&l->shares[k].of);
    free(l->shares);
    vec_fini(&l->uses.of);
    variables_work_fini(&l->variables);
    free(l);
}

/* -- Results ------------------------------------------------------------------------------------ */

static int list_all(struct patterns *p)
{
    for (size_t i = 0; i < p->memories.n; i++) {
        struct pattern_memory *m = p->memories.v[i];
        listing_print(p->list, m->parts, m->n_parts, &m->statics, p->merged);
    }
    int failed = ferror(p->list);
    return fclose(p->list) || failed ? -1 : 0;
}

static void patterns_finish(void *patterns, struct sources *s, struct result *r)
{
    struct patterns *p = patterns;
    struct shapes_options o = {.merged = p->merged, .check = p->rules.check, .variables = p->variables};
    if (p->list && list_all(p)) {
        o.unwritten = p->list_to;
        r->failed = true;
    }
    shapes_result(p->memories.v, p->memories.n, &o, s, r);
}

static const struct analysis_option options[] = {
    {"merged", NULL, "look at all references of a thread as one stream, not at each one's"},
    {"window", "N", "how many items are looked at for a regular section; 8, merged 64"},
    {"depth", "N", "how many PRSDs may be around an RSD; 11"},
    {"keep", "N", "how many descriptors of a reference to show, those that stand for most; 16"},
    {"unordered", NULL, "look for even distances of addresses only, as in the paper's figures"},
    {"expand", NULL, "expand all descriptors and compare the references with those that were made"},
    {"expand-to", "FILE", "... and write them to a file, as gait dump does"},
    {0},
};

const struct analysis analysis_patterns = {
    .name = "patterns",
    .options = options,
    .wants_memory = true,
    .wants_watch = true,
    .make = patterns_make,
    .set = patterns_set,
    .begin = patterns_begin,
    .finish = patterns_finish,
    .drop = patterns_drop,
    .memory = patterns_memory,
    .mapped = patterns_mapped,
    .end = patterns_end,
    .work = patterns_work,
    .open = patterns_open,
    .add = patterns_add,
    .take = patterns_take,
    .merge = patterns_merge,
};
