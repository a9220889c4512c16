/* SPDX-License-Identifier: MIT */
/* The analysis `cache`: which instructions miss a simulated hierarchy of caches. */
#include "analyze/misses.h"
#include "analyze/analysis.h"

#include <stdlib.h>
#include <string.h>

/* What a thread needs to make touches. */
struct misses_maker {
    pthread_t thread; /* that had it last */
    bool is_lent;
    struct touch_maker lines, pages; /* pages only if there are TLBs */
};

struct misses_memory {
    struct misses *misses;
    const struct unit_table *table;
    u32 number;
    struct tally *tally;  /* of each part, of the TLBs, and of crossings */
    pthread_mutex_t lock; /* guards that of crossings, and who has which maker */
    VEC(struct misses_maker *) makers;
    struct variable_memory *variables; /* if sharing is looked at */
    VEC(u64) clocks; /* with --why: instructions that each thread has run */
    u64 *ran, *made; /* at the end: how often each instruction ran, and each reference was made */
};

struct misses_work {
    struct misses_memory *memory;
    u32 core, thread;
    struct misses_maker *maker; /* while it is open */
    struct touches lines, pages;
    struct variable_work variables;
};

/* -- The study ---------------------------------------------------------------------------------- */

static void *misses_make(void)
{
    struct misses *m = zeros(1, sizeof *m);
    shape_of_machine(&m->shape);
    shape_of_two(&m->two, &m->shape);
    m->sort = "l1";
    m->variables = variables_new();
    return m;
}

static int set_sort(struct misses *m, const char *value, struct err *e)
{
    static const char *const words[] = {"l1", "ll", "ir", "tlb", "inv"};
    for (u32 i = 0; i < ARRAY_LEN(words); i++)
        if (!strcmp(words[i], value)) {
            m->sort = words[i];
            return 0;
        }
    return err_set(e, "is one of l1, ll, ir, tlb, inv, not %s", value);
}

static int misses_set(void *misses, const char *option, const char *value, struct err *e)
{
    struct misses *m = misses;
    for (u32 k = 0; k < m->two.n_caches; k++)
        if (!strcmp(option, m->two.cache[k].name)) {
            m->two_given = true;
            return shape_read_triple(&m->two.cache[k], value, e);
        }
    if (!strcmp(option, "config")) {
        m->file_given = true;
        return shape_read_file(&m->shape, value, e);
    }
    if (!strcmp(option, "sharing")) {
        m->sharing = true;
        return 0;
    }
    if (!strcmp(option, "why")) {
        m->asks_why = true;
        return 0;
    }
    if (!strcmp(option, "level")) {
        m->level = value;
        return 0;
    }
    if (strcmp(option, "by"))
        return set_sort(m, value, e);
    m->by_given = true;
    return spots_by(&m->spots, value, e);
}

/* The cache of a name; of those that have none of their own, the first or last for data. */
static int find_level(const struct misses *m, struct err *e)
{
    const struct shape *s = &m->shape;
    char names[8 * SHAPE_CACHES + 1] = "";
    if (!m->level || !strcmp(m->level, "l1"))
        return (int)s->path[SIDE_data][0];
    if (!strcmp(m->level, "ll"))
        return (int)s->path[SIDE_data][s->n_levels - 1];
    for (u32 i = 0; i < s->n_caches; i++) {
        if (!strcmp(m->level, s->cache[i].name))
            return (int)i;
        strcat(strcat(names, " "), s->cache[i].name);
    }
    return err_set(e, "--level is l1, ll or one of%s, not %s", names, m->level);
}

/* Somebody wants to know why a level misses. Lines of it that a fully associative cache would have depend on all its sets: there is one part. */
static int begin_why(struct misses *m, struct err *e)
{
    const int cache = find_level(m, e);
    if (cache < 0)
        return -1;
    if (m->shape.cache[cache].inclusion == INCLUSION_exclusive)
        return err_set(e,
                       "--why cannot tell of %s, which is exclusive: what it is asked for leaves "
                       "it; choose another --level",
                       m->shape.cache[cache].name);
    why_init(&m->why, &m->shape, (u32)cache);
    if (!m->by_given)
        m->spots.by = BY_line;
    return 0;
}

/* Making touches takes longer than taking them, and dealing them to parts takes time, too: two workers share a part. */
static int misses_begin(void *misses, u32 workers, struct err *e)
{
    struct misses *m = misses;
    if (m->two_given && m->file_given)
        return err_set(e, "--config describes all caches; leave out --I1, --D1 and --LL");
    if (m->two_given)
        m->shape = m->two;
    if (m->sharing && !shape_private_levels(&m->shape))
        return err_set(e, "--sharing needs caches that are private to cores");
    if (m->level && !m->asks_why)
        return err_set(e, "--level says which level --why is about; give that too");
    if (misses_columns(m, e) || (m->asks_why && begin_why(m, e)))
        return -1;
    m->tlbs_apart = m->shape.n_tlbs && workers > 1;
    m->parts = m->asks_why ? 1 : shape_parts(&m->shape, (workers - m->tlbs_apart + 1) / 2);
    hierarchy_init(&m->hierarchy, &m->shape, m->parts, m->sharing, m->asks_why ? &m->why : NULL);
    tlbs_init(&m->tlbs, &m->shape);
    m->lent = zeros(m->parts, sizeof *m->lent);
    m->begun = true;
    return (int)(m->parts + m->tlbs_apart);
}

static void misses_drop(void *misses)
{
    struct misses *m = misses;
    if (m->begun) {
        hierarchy_fini(&m->hierarchy);
        tlbs_fini(&m->tlbs);
    }
    why_fini(&m->why);
    for (u32 i = 0; m->lent && i < m->parts; i++)
        lent_fini(&m->lent[i]);
    free(m->lent);
    variables_free(m->variables);
    spots_fini(&m->spots);
    free(m);
}

/* -- Events ------------------------------------------------------------------------------------- */

/* The tallies behind those of the parts. */
static u32 tally_of_tlbs(const struct misses *m)
{
    return m->parts;
}

static u32 tally_of_crossings(const struct misses *m)
{
    return m->parts + 1;
}

static u32 n_tallies(const struct misses *m)
{
    return m->parts + 2;
}

/* The variables' part for --why, behind those for sharing. */
static u32 part_of_why(const struct misses *m)
{
    return m->sharing ? m->parts : 0;
}

static void *misses_memory(void *misses, u32 number, const struct unit_table *t)
{
    struct misses *m = misses;
    struct misses_memory *x = zeros(1, sizeof *x);
    x->misses = m;
    x->table = t;
    x->number = number;
    x->tally = zeros(n_tallies(m), sizeof *x->tally);
    for (u32 i = 0; i < n_tallies(m); i++)
        x->tally[i] = (struct tally){.table = t,
                                     .owner = cache_owner(number),
                                     .slots = slots_of(&m->shape).n,
                                     .number = number};
    check(pthread_mutex_init(&x->lock, NULL) == 0);
    x->variables = m->sharing || m->asks_why ? variables_memory(m->variables, number, t, part_of_why(m) + m->asks_why) : NULL;
    return x;
}

static void misses_mapped(void *memory, const struct trace_mapped *mapped)
{
    struct misses_memory *x = memory;
    if (x->variables)
        variables_mapped(x->variables, mapped);
}

/* What may be left out of the touches of a side. A second touch of the latest line changes nothing, unless
 *   - something else than touches may take the line away, or put another one in (inclusive caches, prefetches, one cache for both sides);
 *   - the policy tells lines that were used once from those that were used twice;
 *   - it writes, and writes go on to the next level, or do not bring the line in;
 *   - somebody wants to know which bytes are used; or, to know what is where at which time, which reference it is. */
static struct touch_rule rule_of(const struct misses *m, enum side side)
{
    const struct shape *s = &m->shape;
    const struct cache_shape *c = &s->cache[s->path[side][0]];
    struct touch_rule r = {.sets = shape_sets(c),
                           .line = c->line,
                           .every = c->policy == POLICY_rrip || c->prefetch || c->bypassed ||
                                    s->path[SIDE_data][0] == s->path[SIDE_code][0] ||
                                    (m->asks_why && (side == SIDE_data || m->why.takes[side])),
                           .every_write = c->writing == WRITING_through || m->sharing,
                           .writes = c->writing != WRITING_ignore,
                           .keeps_four = c->policy == POLICY_lru && c->ways >= 4};
    for (u32 i = 0; i < s->n_caches; i++)
        r.every |= s->cache[i].inclusion == INCLUSION_inclusive;
    return r;
}

static void *misses_work(void *memory)
{
    struct misses_memory *x = memory;
    const struct misses *m = x->misses;
    struct misses_work *w = zeros(1, sizeof *w);
    w->memory = x;
    touches_init(&w->lines, m->parts, shape_block(&m->shape));
    if (m->shape.n_tlbs)
        touches_init(&w->pages, 1, 4096);
    return w;
}

static struct misses_maker *new_maker(struct misses_memory *x)
{
    const struct misses *m = x->misses;
    struct misses_maker *k = zeros(1, sizeof *k);
    touch_maker_init(&k->lines, x->table, rule_of(m, SIDE_code), rule_of(m, SIDE_data));
    k->lines.timed = m->asks_why;
    k->lines.by_line = m->hierarchy.is_cascade;
    if (m->shape.n_tlbs)
        touch_maker_init(&k->pages, x->table, tlbs_rule(&m->shape, SIDE_code), tlbs_rule(&m->shape, SIDE_data));
    vec_push(&x->makers, k);
    return k;
}

/* The one that this thread had last, if nobody else has it now; works are many, and what a maker has would not be in this core's caches if each had its own. */
static struct misses_maker *lend_maker(struct misses_memory *x)
{
    struct misses_maker *found = NULL;
    pthread_mutex_lock(&x->lock);
    for (size_t i = 0; i < x->makers.n; i++) {
        struct misses_maker *k = x->makers.v[i];
        if (!k->is_lent && (!found || pthread_equal(k->thread, pthread_self())))
            found = k;
    }
    if (!found)
        found = new_maker(x);
    found->is_lent = true;
    found->thread = pthread_self();
    pthread_mutex_unlock(&x->lock);
    return found;
}

/* All parts have seen the touches: what those missed that were of several is known. */
static void count_crossings(struct misses_work *w)
{
    struct misses_memory *x = w->memory;
    struct tally *t = &x->tally[tally_of_crossings(x->misses)];
    if (!w->lines.crossings.n)
        return;
    pthread_mutex_lock(&x->lock);
    for (size_t i = 0; i < w->lines.crossings.n; i++) {
        const struct crossing *c = &w->lines.crossings.v[i];
        u64 *n = c->missed ? tally_of(t, c->id) : NULL;
        for (u32 missed = c->missed; missed; missed &= missed - 1)
            n[__builtin_ctz(missed)]++;
    }
    pthread_mutex_unlock(&x->lock);
    w->lines.crossings.n = 0;
}

static void misses_open(void *work, u32 thread)
{
    struct misses_work *w = work;
    struct misses *m = w->memory->misses;
    count_crossings(w);
    w->maker = lend_maker(w->memory);
    touches_open(&w->lines, &w->maker->lines);
    if (m->shape.n_tlbs)
        touches_open(&w->pages, &w->maker->pages);
    w->core = thread % m->shape.cores;
    w->thread = thread;
    hierarchy_add_core(&m->hierarchy, w->core);
    variables_open(&w->variables, thread);
}

static void misses_add(void *work, const struct events *e)
{
    struct misses_work *w = work;
    touches_add(&w->lines, e);
    if (w->memory->misses->shape.n_tlbs)
        touches_add(&w->pages, e);
    if (w->memory->variables)
        variables_add(&w->variables, e);
}

static void misses_close(void *work)
{
    struct misses_work *w = work;
    pthread_mutex_lock(&w->memory->lock);
    w->maker->is_lent = false;
    pthread_mutex_unlock(&w->memory->lock);
}

static u64 line_length(const struct misses *m)
{
    return m->shape.cache[m->shape.path[SIDE_data][0]].line;
}

static void take_pages(struct misses_memory *x, const struct misses_work *w)
{
    size_t n;
    const struct touch *v = touches_of(&w->pages, 0, &n);
    tlbs_take(&x->misses->tlbs, w->core, &x->tally[tally_of_tlbs(x->misses)], v, n);
}

/* In one part. */
static void take_why(struct misses_memory *x, struct misses_work *w)
{
    struct misses *m = x->misses;
    struct variable_part *p = variables_take(x->variables, part_of_why(m), &w->variables);
    size_t n;
    vec_reach(&x->clocks, w->thread);
    why_begin(&m->why, p, touches_of(&w->lines, 0, &n),
              (struct why_times){w->thread, x->clocks.v[w->thread], w->lines.times.v});
    x->clocks.v[w->thread] += w->lines.clock;
    hierarchy_take(&m->hierarchy, 0, w->core, &x->tally[0], &w->lines);
    variables_taken(p);
}

static void misses_take(void *memory, void *work, u32 part)
{
    struct misses_memory *x = memory;
    struct misses *m = x->misses;
    struct misses_work *w = work;
    if (part < m->parts && m->asks_why)
        take_why(x, w);
    else if (part < m->parts)
        hierarchy_take(&m->hierarchy, part, w->core, &x->tally[part], &w->lines);
    if (part < m->parts && m->sharing)
        lent_name(&m->lent[part], &m->hierarchy.part[part].sharing,
                  variables_take(x->variables, part, &w->variables),
                  line_length(m));
    if (m->shape.n_tlbs && (part == m->parts || !m->tlbs_apart))
        take_pages(x, w);
}

static void misses_merge(void *memory, void *work)
{
    struct misses_memory *x = memory;
    struct misses_work *w = work;
    count_crossings(w);
    touches_fini(&w->lines);
    if (x->misses->shape.n_tlbs)
        touches_fini(&w->pages);
    variables_work_fini(&w->variables);
    free(w);
}

/* -- Sums --------------------------------------------------------------------------------------- */

/* Add what an instruction or reference met, in the columns that are of such. */
static void add_counts(const struct misses_memory *x, u32 id, enum column_of of, u64 made,
                       u64 *count)
{
    const struct misses *m = x->misses;
    for (u32 c = 0; c < m->n_columns; c++)
        if (m->column[c].of == of && m->column[c].slot == MADE)
            count[c] += made;
    for (u32 i = 0; i < n_tallies(m); i++) {
        const u64 *n = tally_look(&x->tally[i], id);
        for (u32 c = 0; n && c < m->n_columns; c++)
            if ((m->column[c].of == of || m->column[c].of == OF_all) && m->column[c].slot != MADE)
                count[c] += n[m->column[c].slot];
    }
}

static void count_unit(struct misses_memory *x, const struct unit *u)
{
    const struct unit_table *t = x->table;
    u32 j = u->ref0;
    for (u32 i = u->insn0; i < u->insn0 + u->n_insns; i++) {
        u64 count[SPOT_COUNTS] = {0};
        add_counts(x, i | TOUCH_CODE, OF_insns, x->ran[i], count);
        for (; j < u->ref0 + u->n_refs && t->refs.v[j].insn == i - u->insn0; j++)
            add_counts(x, j, t->refs.v[j].kind == REF_STORE ? OF_writes : OF_reads, x->made[j],
                       count);
        if (x->ran[i])
            spots_add(&x->misses->spots, x->number, t->insns.v[i].pc, count);
    }
}

static void end_makers(struct misses_memory *x)
{
    x->ran = zeros(x->table->insns.n, sizeof *x->ran);
    x->made = zeros(x->table->refs.n, sizeof *x->made);
    for (size_t i = 0; i < x->makers.n; i++) {
        touch_maker_counts(&x->makers.v[i]->lines, x->ran, x->made);
        touch_maker_fini(&x->makers.v[i]->lines);
        touch_maker_fini(&x->makers.v[i]->pages);
        free(x->makers.v[i]);
    }
    vec_fini(&x->makers);
}

static void misses_end(void *memory)
{
    struct misses_memory *x = memory;
    end_makers(x);
    for (size_t u = 0; u < x->table->units.n; u++)
        count_unit(x, &x->table->units.v[u]);
    if (x->misses->asks_why)
        why_end(&x->misses->why, &x->tally[0], variables_part(x->variables, part_of_why(x->misses)));
    for (u32 i = 0; i < n_tallies(x->misses); i++)
        tally_fini(&x->tally[i]);
    for (u32 i = 0; x->misses->sharing && i < x->misses->parts; i++)
        lent_name_late(&x->misses->lent[i], x->number, variables_part(x->variables, i),
                       line_length(x->misses));
    if (x->variables)
        variables_end(x->variables);
    free(x->tally);
    vec_fini(&x->clocks);
    pthread_mutex_destroy(&x->lock);
    free(x->ran);
    free(x->made);
    free(x);
}

static void misses_finish(void *misses, struct sources *s, struct result *r)
{
    misses_tell(misses, s, r);
}

static const struct analysis_option options[] = {
    {"config", "FILE", "a description of the caches; else they are the machine's own"},
    {"I1", "SIZE,WAYS,LINE", "two levels, used by all threads alike: the first for code, in bytes"},
    {"D1", "SIZE,WAYS,LINE", "... for data"},
    {"LL", "SIZE,WAYS,LINE", "the last level's"},
    {"sharing", NULL, "tell of lines that threads take from each other"},
    {"why", NULL,
     "tell why a level misses: kinds of misses, what of lines is used, who evicts them"},
    {"level", "l1|ll|NAME", "which level --why is about; the first for data if it is not given"},
    {"by", "function|line|instruction", "what a row stands for"},
    {"sort", "l1|ll|ir|tlb|inv",
     "which rows come first: misses of the first or last level, instructions, misses of TLBs, "
     "invalidations"},
    {0},
};

const struct analysis analysis_cache = {
    .name = "cache",
    .options = options,
    .wants_memory = true,
    .wants_watch = true,
    .make = misses_make,
    .set = misses_set,
    .begin = misses_begin,
    .finish = misses_finish,
    .drop = misses_drop,
    .memory = misses_memory,
    .mapped = misses_mapped,
    .end = misses_end,
    .work = misses_work,
    .open = misses_open,
    .add = misses_add,
    .close = misses_close,
    .take = misses_take,
    .merge = misses_merge,
};
