/* SPDX-License-Identifier: MIT */
/* The analysis `cache`: which instructions miss a simulated hierarchy of caches. */
#include "analyze/analysis.h"
#include "analyze/cache.h"
#include "analyze/machine.h"
#include "analyze/spots.h"

#include <stdlib.h>
#include <string.h>

/* What is counted of each instruction. */
enum count {
#define COUNT(name, letters, what) MISSES_##name,
#include "analyze/counts.def"
#undef COUNT
    MISSES_COUNTS,
};

static const struct {
    const char *letters, *what;
} counts[MISSES_COUNTS] = {
#define COUNT(name, letters, what) [MISSES_##name] = {letters, what},
#include "analyze/counts.def"
#undef COUNT
};

static const char *const level_names[CACHE_LEVELS] = {"I1", "D1", "LL"};

/* How rows are ordered: by the sum of these. */
static const struct {
    const char *name;
    u64 weight;
} sorts[] = {
    {"l1", 1 << MISSES_insn_first | 1 << MISSES_read_first | 1 << MISSES_write_first},
    {"ll", 1 << MISSES_insn_last | 1 << MISSES_read_last | 1 << MISSES_write_last},
    {"ir", 1 << MISSES_insns},
};

struct misses {
    struct cache_shape shape[CACHE_LEVELS];
    struct cache cache;
    bool begun;
    u64 weight;
    struct spots spots;
};

struct misses_memory {
    struct misses *misses;
    const struct unit_table *table;
    struct cache_memory missed;
    u64 *ran, *made; /* at the end: how often each instruction ran, and each reference was made */
};

static void *zeros(size_t n, size_t size)
{
    void *p = calloc(MAX(n, 1ul), size);
    check(p != NULL);
    return p;
}

/* -- The caches --------------------------------------------------------------------------------- */

/* The machine's own caches; what the kernel does not tell stays as it is. */
static void machine_shapes(struct cache_shape shape[CACHE_LEVELS])
{
    u32 last = 1;
    for (u32 index = 0; index < MACHINE_CACHES; index++) {
        struct machine_cache c = machine_cache(index);
        struct cache_shape s = {c.size, c.ways, c.line};
        if (cache_shape_fault(&s))
            continue;
        if (c.level == 1)
            shape[c.for_data ? CACHE_D1 : CACHE_I1] = s;
        else if (c.level > last) {
            shape[CACHE_LL] = s;
            last = c.level;
        }
    }
}

/* SIZE,WAYS,LINE as valgrind's cachegrind takes them. */
static int read_shape(struct cache_shape *s, const char *value, struct err *e)
{
    char *end;
    *s = (struct cache_shape){.size = strtoull(value, &end, 10)};
    if (*end == ',')
        s->ways = (u32)strtoul(end + 1, &end, 10);
    if (*end == ',')
        s->line = (u32)strtoul(end + 1, &end, 10);
    if (*end)
        return err_set(e, "wants SIZE,WAYS,LINE in bytes, not %s", value);
    const char *fault = cache_shape_fault(s);
    return fault ? err_set(e, "cannot be %s: %s", value, fault) : 0;
}

/* -- The study ---------------------------------------------------------------------------------- */

static void *misses_make(void)
{
    static const struct cache_shape shape[] = {
        {32768, 8, 64}, {32768, 8, 64}, {8388608, 16, 64}};
    struct misses *m = zeros(1, sizeof *m);
    memcpy(m->shape, shape, sizeof shape);
    machine_shapes(m->shape);
    m->weight = sorts[0].weight;
    m->spots.n_counts = MISSES_COUNTS;
    return m;
}

static int set_sort(struct misses *m, const char *value, struct err *e)
{
    for (u32 i = 0; i < ARRAY_LEN(sorts); i++)
        if (!strcmp(sorts[i].name, value)) {
            m->weight = sorts[i].weight;
            return 0;
        }
    return err_set(e, "is one of l1, ll, ir, not %s", value);
}

static int misses_set(void *misses, const char *option, const char *value, struct err *e)
{
    struct misses *m = misses;
    for (u32 k = 0; k < CACHE_LEVELS; k++)
        if (!strcmp(option, level_names[k]))
            return read_shape(&m->shape[k], value, e);
    return !strcmp(option, "by") ? spots_by(&m->spots, value, e) : set_sort(m, value, e);
}

static int misses_begin(void *misses, u32 workers, struct err *e)
{
    struct misses *m = misses;
    (void)workers, (void)e;
    cache_init(&m->cache, m->shape);
    m->begun = true;
    return 1;
}

static void misses_drop(void *misses)
{
    struct misses *m = misses;
    if (m->begun)
        cache_fini(&m->cache);
    spots_fini(&m->spots);
    free(m);
}

/* -- Events ------------------------------------------------------------------------------------- */

static void *misses_memory(void *misses, u32 number, const struct unit_table *t)
{
    struct misses_memory *x = zeros(1, sizeof *x);
    x->misses = misses;
    x->table = t;
    x->missed.number = number;
    return x;
}

static struct touch_sets sets_of(const struct cache *c, enum cache_level level)
{
    return (struct touch_sets){c->level[level].sets, c->shape[level].line};
}

static void *misses_work(void *memory)
{
    struct misses_memory *x = memory;
    const struct cache *c = &x->misses->cache;
    struct touches *t = zeros(1, sizeof *t);
    touches_init(t, x->table, sets_of(c, CACHE_I1), sets_of(c, CACHE_D1));
    return t;
}

static void misses_open(void *touches, u32 thread)
{
    (void)thread;
    touches_reset(touches);
}

static void misses_add(void *touches, const struct events *e)
{
    touches_add(touches, e);
}

static void misses_take(void *memory, void *touches, u32 part)
{
    struct misses_memory *x = memory;
    struct touches *t = touches;
    (void)part;
    cache_take(&x->misses->cache, &x->missed, t->list.v, t->list.n);
    t->list.n = 0;
}

static void misses_merge(void *memory, void *touches)
{
    struct misses_memory *x = memory;
    if (!x->ran) {
        x->ran = zeros(x->table->insns.n, sizeof *x->ran);
        x->made = zeros(x->table->refs.n, sizeof *x->made);
    }
    touches_counts(touches, x->ran, x->made);
    touches_fini(touches);
    free(touches);
}

/* -- Results ------------------------------------------------------------------------------------ */

static struct cache_misses missed(const struct cache_misses *v, size_t n, u32 i)
{
    return i < n ? v[i] : (struct cache_misses){0};
}

static void count_ref(u64 *count, const struct misses_memory *x, u32 j)
{
    struct cache_misses n = missed(x->missed.refs.v, x->missed.refs.n, j);
    bool writes = x->table->refs.v[j].kind == REF_STORE;
    count[writes ? MISSES_writes : MISSES_reads] += x->made[j];
    count[writes ? MISSES_write_first : MISSES_read_first] += n.first;
    count[writes ? MISSES_write_last : MISSES_read_last] += n.last;
}

static void count_unit(struct misses_memory *x, const struct unit *u)
{
    const struct unit_table *t = x->table;
    u32 j = u->ref0;
    for (u32 i = u->insn0; i < u->insn0 + u->n_insns; i++) {
        struct cache_misses n = missed(x->missed.insns.v, x->missed.insns.n, i);
        u64 count[MISSES_COUNTS] = {[MISSES_insns] = x->ran[i],
                                    [MISSES_insn_first] = n.first,
                                    [MISSES_insn_last] = n.last};
        for (; j < u->ref0 + u->n_refs && t->refs.v[j].insn == i - u->insn0; j++)
            count_ref(count, x, j);
        if (x->ran[i])
            spots_add(&x->misses->spots, (u32)x->missed.number, t->insns.v[i].pc, count);
    }
}

static void misses_end(void *memory)
{
    struct misses_memory *x = memory;
    for (size_t u = 0; x->ran && u < x->table->units.n; u++)
        count_unit(x, &x->table->units.v[u]);
    cache_memory_fini(&x->missed);
    free(x->ran);
    free(x->made);
    free(x);
}

static void add_caches(const struct misses *m, struct result *r)
{
    struct table *t = result_table(r, TABLE_series, "caches", "caches");
    table_add_column(t, CELL_text, "level", NULL);
    table_add_column(t, CELL_count, "size", NULL);
    table_add_column(t, CELL_count, "ways", NULL);
    table_add_column(t, CELL_count, "line", NULL);
    for (u32 k = 0; k < CACHE_LEVELS; k++)
        table_row(t, level_names[k], m->shape[k].size, (u64)m->shape[k].ways,
                  (u64)m->shape[k].line);
}

static void add_total(const u64 *n, struct result *r)
{
    struct table *t = result_table(r, TABLE_facts, "total", "in all");
    u64 refs = n[MISSES_reads] + n[MISSES_writes];
    u64 first = n[MISSES_read_first] + n[MISSES_write_first];
    u64 last = n[MISSES_read_last] + n[MISSES_write_last];
    u64 all = n[MISSES_insn_last] + last;
    for (u32 c = 0; c < MISSES_COUNTS; c++)
        fact_count(t, counts[c].letters, counts[c].what, n[c]);
    fact_percent(t, "I1_miss_rate", "I1 misses", n[MISSES_insn_first], n[MISSES_insns]);
    fact_percent(t, "D1_miss_rate", "D1 misses", first, refs);
    fact_percent(t, "LL_miss_rate", "LL misses", all, refs + n[MISSES_insns]);
    fact_number(t, "LL_mpki", "LL misses in 1000 instructions",
                n[MISSES_insns] ? 1000.0 * (double)all / (double)n[MISSES_insns] : 0.0);
}

static void misses_finish(void *misses, struct sources *s, struct result *r)
{
    struct misses *m = misses;
    u64 total[MISSES_COUNTS];
    spots_total(&m->spots, total);
    add_caches(m, r);
    add_total(total, r);
    struct table *t = result_table(r, TABLE_rows, "rows", "where");
    for (u32 c = 0; c < MISSES_COUNTS; c++)
        table_add_column(t, CELL_count, counts[c].letters, counts[c].what);
    spots_table(&m->spots, s, m->weight, t);
}

static const struct analysis_option options[] = {
    {"I1", "SIZE,WAYS,LINE", "the first level's cache for code, in bytes; else the machine's own"},
    {"D1", "SIZE,WAYS,LINE", "... for data"},
    {"LL", "SIZE,WAYS,LINE", "the last level's"},
    {"by", "function|line|instruction", "what a row stands for"},
    {"sort", "l1|ll|ir", "which rows come first: misses of the first or last level, instructions"},
    {0},
};

const struct analysis analysis_cache = {
    .name = "cache",
    .options = options,
    .wants_memory = true,
    .make = misses_make,
    .set = misses_set,
    .begin = misses_begin,
    .finish = misses_finish,
    .drop = misses_drop,
    .memory = misses_memory,
    .end = misses_end,
    .work = misses_work,
    .open = misses_open,
    .add = misses_add,
    .take = misses_take,
    .merge = misses_merge,
};
