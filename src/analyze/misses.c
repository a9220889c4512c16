/* SPDX-License-Identifier: MIT */
/* The analysis `cache`: which instructions miss a simulated hierarchy of caches. */
#include "analyze/misses.h"
#include "analyze/analysis.h"

#include <stdlib.h>
#include <string.h>

struct misses_memory {
    struct misses *misses;
    const struct unit_table *table;
    u32 number;
    struct tally *tally;  /* of each part, of the TLBs, and of crossings */
    pthread_mutex_t lock; /* guards that of crossings */
    u64 cores;            /* that touch it, as bits; atomic */
    struct makers makers;
    struct variable_memory *variables; /* if sharing is looked at */
    VEC(u64) clocks; /* with --why: instructions that each thread has run */
    u64 *ran, *made; /* at the end: how often each instruction ran, and each reference was made */
};

struct misses_work {
    struct misses_memory *memory;
    u32 core, thread;
    struct maker *maker; /* while it is open */
    struct touches lines, pages;
    struct variable_work variables;
};

/* -- The study ---------------------------------------------------------------------------------- */

static void *misses_make(void)
{
    struct misses *m = zeros(1, sizeof *m);
    shape_given_init(&m->given);
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
    const int given = shape_given_set(&m->given, option, value, e);
    if (given <= 0)
        return given;
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
    if (shape_given_choose(&m->given, &m->shape, e))
        return -1;
    if (m->sharing && !shape_private_levels(&m->shape))
        return err_set(e, "--sharing needs caches that are private to cores");
    if (m->level && !m->asks_why)
        return err_set(e, "--level says which level --why is about; give that too");
    if (misses_columns(m, e) || (m->asks_why && begin_why(m, e)))
        return -1;
    m->tlbs_apart = m->shape.n_tlbs && workers > 1;
    m->parts = m->asks_why ? 1 : shape_parts(&m->shape, (workers - m->tlbs_apart + 1) / 2);
    hierarchy_init(&m->hierarchy, &m->shape, m->parts, m->sharing, m->asks_why ? &m->why : NULL, false);
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

/* Which touches it wants. */
static struct touch_plan plan_of(const struct misses *m, const struct unit_table *t)
{
    const struct shape *s = &m->shape;
    struct touch_plan p = {.table = t, .timed = m->asks_why, .by_line = m->hierarchy.is_cascade, .has_pages = s->n_tlbs};
    p.lines[TOUCH_OF_CODE] = hierarchy_rule(&m->hierarchy, SIDE_code);
    p.lines[TOUCH_OF_DATA] = hierarchy_rule(&m->hierarchy, SIDE_data);
    if (p.has_pages) {
        p.pages[TOUCH_OF_CODE] = tlbs_rule(s, SIDE_code);
        p.pages[TOUCH_OF_DATA] = tlbs_rule(s, SIDE_data);
    }
    return p;
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
    const struct touch_plan plan = plan_of(m, t);
    makers_init(&x->makers, &plan);
    x->variables = m->sharing || m->asks_why ? variables_memory(m->variables, number, t, part_of_why(m) + m->asks_why) : NULL;
    return x;
}

static void misses_mapped(void *memory, const struct trace_mapped *mapped)
{
    struct misses_memory *x = memory;
    if (x->variables)
        variables_mapped(x->variables, mapped);
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
    w->maker = makers_lend(&w->memory->makers);
    touches_open(&w->lines, &w->maker->lines);
    if (m->shape.n_tlbs)
        touches_open(&w->pages, &w->maker->pages);
    w->core = thread % m->shape.cores;
    w->thread = thread;
    hierarchy_add_core(&m->hierarchy, w->core);
    __atomic_fetch_or(&w->memory->cores, 1ull << w->core, __ATOMIC_RELAXED);
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
    makers_take_back(&w->memory->makers, w->maker);
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
    hierarchy_take(&m->hierarchy, 0, w->core, false, &x->tally[0], &w->lines);
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
        hierarchy_take(&m->hierarchy, part, w->core, __atomic_load_n(&x->cores, __ATOMIC_RELAXED) == 1ull << w->core, &x->tally[part], &w->lines);
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
    makers_counts(&x->makers, x->ran, x->made);
    makers_fini(&x->makers);
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
    SHAPE_GIVEN_OPTIONS,
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
