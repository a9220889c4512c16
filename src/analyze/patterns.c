/* SPDX-License-Identifier: MIT */
/* The analysis `patterns`: how each static reference goes through memory, in descriptors of regular sections.
 *
 * A work holds the references of a stretch, those of one static reference together. The streams are in parts by the numbers of their
 * static references, so that several threads lead them on at the same time. */
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
    AHEAD = 8 /* groups whose memory is fetched before it is needed */
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

/* References of one static reference. */
struct group {
    u32 number, part, first, n;
};

struct list {
    struct pattern_memory *memory;
    u32 thread;
    u32 n; /* references */
    VEC(u64) address;
    VEC(u32) place;  /* of each in the work; merged: its type */
    VEC(u32) source; /* merged: its static reference */
    VEC(struct group) groups;
    struct static_uses uses;
    VEC(u32) counts;  /* by static reference; zero between batches */
    VEC(u32) numbers; /* of a batch's references */
    VEC(u32) refs;    /* by place in the work: which one of the table it is */
    struct variable_work variables;
};

/* A reference of a list. */
struct listed {
    u32 group, at; /* at: + 1; 0: it is in another part */
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
    for (u32 k = 0; k < p->parts; k++)
        streams_init(&m->parts[k], &p->rules);
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
        aims_end(&m->aims[k], variables_part(m->variables, k));
    }
    variables_end(m->variables);
}

/* -- Works -------------------------------------------------------------------------------------- */

static void *patterns_work(void *memory)
{
    struct list *l = zeros(1, sizeof *l);
    l->memory = memory;
    return l;
}

static void patterns_open(void *list, u32 thread)
{
    struct list *l = list;
    variables_open(&l->variables, thread);
    l->thread = thread;
    l->n = 0;
    l->address.n = l->place.n = l->source.n = l->groups.n = l->refs.n = 0;
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
    u64 *address = vec_grow(&l->address, b->n_refs);
    u32 *type = vec_grow(&l->place, b->n_refs), *source = vec_grow(&l->source, b->n_refs);
    for (u32 j = 0; j < b->n_refs; j++) {
        struct static_use u = use_of(l, b, j);
        address[j] = b->addr[j];
        type[j] = u.type;
        source[j] = u.number;
    }
}

/* Count the references of each group, which tells where it begins. */
static void make_groups(struct list *l, const struct batch *b)
{
    const size_t old = l->groups.n;
    l->numbers.n = 0;
    u32 *number = vec_grow(&l->numbers, b->n_refs), *ref = vec_grow(&l->refs, b->n_refs);
    for (u32 j = 0; j < b->n_refs; j++) {
        __builtin_prefetch(&l->uses.of.v[b->ref[j + 8] & ~BATCH_ODD]); /* there are as many behind the last */
        number[j] = use_of(l, b, j).number;
        ref[j] = ref_of(b, j);
        vec_reach(&l->counts, number[j]);
        if (!l->counts.v[number[j]]++)
            vec_push(&l->groups, ((struct group){.number = number[j], .part = number[j] % l->memory->n_parts}));
    }
    u32 first = l->n;
    for (size_t i = old; i < l->groups.n; i++) {
        struct group *g = &l->groups.v[i];
        g->first = first;
        g->n = l->counts.v[g->number];
        l->counts.v[g->number] = first;
        first += g->n;
    }
}

static void fill_groups(struct list *l, const struct batch *b)
{
    u64 *address = vec_grow(&l->address, b->n_refs) - l->n;
    u32 *place = vec_grow(&l->place, b->n_refs) - l->n;
    for (u32 j = 0; j < b->n_refs; j++) {
        u32 at = l->counts.v[l->numbers.v[j]]++;
        address[at] = b->addr[j];
        place[at] = l->n + j;
    }
    for (u32 j = 0; j < b->n_refs; j++)
        l->counts.v[l->numbers.v[j]] = 0;
}

static void patterns_add(void *list, const struct events *e)
{
    struct list *l = list;
    variables_add(&l->variables, e);
    if (l->memory->merged) {
        add_merged(l, e->batch);
    } else {
        make_groups(l, e->batch);
        fill_groups(l, e->batch);
    }
    l->n += e->batch->n_refs;
}

/* What the references of a part come to, in the order of the list: something is allocated or freed between them. */
static void aim_in_order(const struct list *l, struct aims *a, struct variable_part *v, u32 part)
{
    struct listed *order = zeros(l->n, sizeof *order);
    for (u32 i = 0; i < l->groups.n; i++) {
        const struct group *g = &l->groups.v[i];
        for (u32 k = g->first; g->part == part && k < g->first + g->n; k++)
            order[l->place.v[k]] = (struct listed){i, k + 1};
    }
    for (u32 i = 0; i < l->n; i++) {
        const struct group *g = &l->groups.v[order[i].group];
        if (!order[i].at)
            continue;
        variables_until(v, i);
        aims_put(a, v, g->number, l->refs.v, &l->address.v[order[i].at - 1], &i, 1);
    }
    free(order);
}

static void aim(const struct list *l, struct aims *a, struct variable_part *v, u32 part)
{
    for (size_t i = 0; i < l->groups.n; i++) {
        const struct group *g = &l->groups.v[i];
        if (i + AHEAD < l->groups.n)
            aims_fetch(a, l->groups.v[i + AHEAD].number);
        if (g->part == part)
            aims_put(a, v, g->number, l->refs.v, l->address.v + g->first, l->place.v + g->first, g->n);
    }
}

/* A work comes to many streams, few of which are in the cache: all are on their way before the first is needed. */
static void put_groups(const struct list *l, struct streams *s, u32 part, u64 from)
{
    s->next.n = 0;
    for (size_t i = 0; i < l->groups.n; i++)
        if (l->groups.v[i].part == part)
            vec_push(&s->next, streams_find(s, l->thread, l->groups.v[i].number));
    for (size_t i = 0, k = 0; i < l->groups.n; i++) {
        const struct group *g = &l->groups.v[i];
        if (g->part != part)
            continue;
        if (k + AHEAD < s->next.n)
            stream_fetch(s->next.v[k + AHEAD]);
        streams_put(s, s->next.v[k++], l->address.v + g->first, l->place.v + g->first, g->n, from);
    }
}

static void patterns_take(void *memory, void *list, u32 part)
{
    struct pattern_memory *m = memory;
    const struct list *l = list;
    struct streams *s = &m->parts[part];
    u64 *refs = streams_refs(s, l->thread);
    struct variable_part *v = variables_take(m->variables, part, &l->variables);
    (l->variables.sightings.v.n ? aim_in_order : aim)(l, &m->aims[part], v, part);
    variables_taken(v);
    if (m->merged)
        streams_put_merged(s, l->thread, l->address.v, l->place.v, l->source.v, l->n);
    put_groups(l, s, part, *refs);
    *refs += l->n;
}

static void patterns_merge(void *memory, void *list)
{
    struct list *l = list;
    (void)memory;
    vec_fini(&l->address);
    vec_fini(&l->place);
    vec_fini(&l->source);
    vec_fini(&l->groups);
    vec_fini(&l->uses.of);
    vec_fini(&l->counts);
    vec_fini(&l->numbers);
    vec_fini(&l->refs);
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
