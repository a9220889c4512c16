/* SPDX-License-Identifier: MIT */
/* What the analysis `cache` has found, as tables. */
#include "analyze/misses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- Columns ------------------------------------------------------------------------------------ */

static void add_column(struct misses *m, enum column_of of, u32 slot, const char *name,
                       const char *what)
{
    check(m->n_columns < SPOT_COUNTS);
    struct misses_column *c = &m->column[m->n_columns++];
    *c = (struct misses_column){.of = of, .slot = slot};
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->what, sizeof c->what, "%s", what);
}

/* The last of several levels is L: with two levels, the names are cachegrind's. */
static char level_letter(const struct misses *m, u32 level)
{
    return level && level + 1 == m->shape.n_levels ? 'L' : (char)('1' + level);
}

static void level_words(const struct misses *m, u32 level, char words[32])
{
    static const char *const inner[] = {"first", "second", "third", "fourth"};
    bool last = level && level + 1 == m->shape.n_levels;
    snprintf(words, 32, "%s level", last ? "last" : inner[level]);
}

/* The columns of instructions, reads or writes; `letters`: what their names begin and end with. */
static void add_group(struct misses *m, enum column_of of, const char *made, const char *things,
                      char first, char last)
{
    char name[8], what[80], words[32];
    const struct slots slots = slots_of(&m->shape);
    add_column(m, of, MADE, made, things);
    for (u32 k = 0; k < m->shape.n_levels; k++) {
        level_words(m, k, words);
        snprintf(name, sizeof name, "%c%cm%c", first, level_letter(m, k), last);
        snprintf(what, sizeof what, "%s that missed the %s", things, words);
        add_column(m, of, k, name, what);
    }
    for (u32 k = 0; k < m->shape.n_tlb_levels; k++) {
        snprintf(name, sizeof name, "%c%cm%c", first, "TS"[k], last);
        snprintf(what, sizeof what, "%s that missed the %s TLB", things, k ? "second" : "first");
        add_column(m, of, slots.tlb + k, name, what);
    }
}

/* The columns that count this, as bits. */
static u64 columns_of(const struct misses *m, u32 slot)
{
    u64 bits = 0;
    for (u32 c = 0; c < m->n_columns; c++)
        if (m->column[c].slot == slot)
            bits |= 1ull << c;
    return bits;
}

static u64 weight_of(const struct misses *m, const char *sort)
{
    const struct slots slots = slots_of(&m->shape);
    if (!strcmp(sort, "ir"))
        return 1;
    if (!strcmp(sort, "tlb"))
        return m->shape.n_tlbs ? columns_of(m, slots.tlb + m->shape.n_tlb_levels - 1) : 0;
    if (!strcmp(sort, "inv"))
        return slots.n > slots.invalidated ? columns_of(m, slots.invalidated) : 0;
    return columns_of(m, !strcmp(sort, "ll") ? m->shape.n_levels - 1 : 0);
}

int misses_columns(struct misses *m, struct err *e)
{
    const struct slots slots = slots_of(&m->shape);
    add_group(m, OF_insns, "Ir", "instructions", 'I', 'r');
    add_group(m, OF_reads, "Dr", "reads", 'D', 'r');
    add_group(m, OF_writes, "Dw", "writes", 'D', 'w');
    if (slots.n > slots.invalidated)
        add_column(m, OF_all, slots.invalidated, "Inv",
                   "copies of other cores that were invalidated");
    if (m->sharing) {
        add_column(m, OF_all, slots.regained, "Shm",
                   "misses because another core wrote to the line");
        add_column(m, OF_all, slots.regained_false, "Fsm", "of these, false sharing");
    }
    m->spots.n_counts = m->n_columns;
    if (!weight_of(m, m->sort))
        return err_set(e, "--sort %s: there is no such thing in these caches", m->sort);
    m->spots.rate = "MPKI";
    m->spots.rate_weight = weight_of(m, !strcmp(m->sort, "ir") ? "l1" : m->sort);
    return 0;
}

/* -- Sums --------------------------------------------------------------------------------------- */

/* What is counted in a slot, of code, data, or both. */
static u64 sum_of(const struct misses *m, const u64 *total, u32 slot, bool code, bool data)
{
    u64 sum = 0;
    for (u32 c = 0; c < m->n_columns; c++)
        if (m->column[c].slot == slot && (m->column[c].of == OF_insns ? code : data))
            sum += total[c];
    return sum;
}

static double per_1000(u64 n, u64 instructions)
{
    return instructions ? 1000.0 * (double)n / (double)instructions : 0.0;
}

/* -- Tables ------------------------------------------------------------------------------------- */

static void add_cache_columns(struct table *t)
{
    static const struct {
        enum cell_type type;
        const char *name;
    } columns[] = {
        {CELL_text, "level"},       {CELL_count, "size"},      {CELL_count, "ways"},
        {CELL_count, "line"},       {CELL_text, "policy"},     {CELL_text, "write"},
        {CELL_text, "allocate"},    {CELL_text, "inclusion"},  {CELL_text, "prefetch"},
        {CELL_text, "scope"},       {CELL_count, "misses"},    {CELL_number, "mpki"},
        {CELL_count, "writebacks"}, {CELL_count, "withdrawn"}, {CELL_count, "prefetches"},
        {CELL_count, "useful"},
    };
    for (u32 i = 0; i < ARRAY_LEN(columns); i++)
        table_add_column(t, columns[i].type, columns[i].name, NULL);
}

/* Which level a cache is of, and for what. */
static u32 level_of(const struct shape *s, u32 cache, bool *code, bool *data)
{
    u32 k = 0;
    while (s->path[SIDE_code][k] != cache && s->path[SIDE_data][k] != cache)
        k++;
    *code = s->path[SIDE_code][k] == cache;
    *data = s->path[SIDE_data][k] == cache;
    return k;
}

static void add_caches(const struct misses *m, const u64 *total, struct result *r)
{
    struct table *t = result_table(r, TABLE_series, "caches", "caches");
    add_cache_columns(t);
    for (u32 i = 0; i < m->shape.n_caches; i++) {
        const struct cache_shape *c = &m->shape.cache[i];
        const struct cache_stats n = hierarchy_stats(&m->hierarchy, i);
        bool code, data;
        const u32 level = level_of(&m->shape, i, &code, &data);
        const u64 misses = sum_of(m, total, level, code, data);
        table_row(t, c->name, c->size, (u64)c->ways, (u64)c->line, policy_words[c->policy],
                  writing_words[c->writing], c->bypassed ? "no" : "yes",
                  inclusion_words[c->inclusion], prefetch_words[c->prefetch],
                  c->is_private ? "private" : "shared", misses, per_1000(misses, total[0]),
                  n.writebacks, n.withdrawn, n.prefetches, n.useful);
    }
}

static void add_tlbs(const struct misses *m, struct result *r)
{
    if (!m->shape.n_tlbs)
        return;
    struct table *t = result_table(r, TABLE_series, "tlbs", "TLBs");
    table_add_column(t, CELL_text, "tlb", NULL);
    table_add_column(t, CELL_count, "entries", NULL);
    table_add_column(t, CELL_count, "ways", NULL);
    table_add_column(t, CELL_text, "policy", NULL);
    table_add_column(t, CELL_text, "page", NULL);
    table_add_column(t, CELL_text, "scope", NULL);
    for (u32 i = 0; i < m->shape.n_tlbs; i++) {
        const struct tlb_shape *x = &m->shape.tlb[i];
        table_row(t, x->name, (u64)x->entries, (u64)x->ways, policy_words[x->policy],
                  !x->huge    ? "4K"
                  : !x->small ? "2M"
                              : "both",
                  x->is_private ? "private" : "shared");
    }
}

static void add_total(const struct misses *m, const u64 *total, struct result *r)
{
    struct table *t = result_table(r, TABLE_facts, "total", "in all");
    const struct slots slots = slots_of(&m->shape);
    const u32 last = m->shape.n_levels - 1, walk = slots.tlb + m->shape.n_tlb_levels - 1;
    const u64 insns = total[0], refs = sum_of(m, total, MADE, false, true);
    const u64 missed = sum_of(m, total, last, true, true);
    for (u32 c = 0; c < m->n_columns; c++)
        fact_count(t, m->column[c].name, m->column[c].what, total[c]);
    fact_percent(t, "I1_miss_rate", "I1 misses", sum_of(m, total, 0, true, false), insns);
    fact_percent(t, "D1_miss_rate", "D1 misses", sum_of(m, total, 0, false, true), refs);
    fact_percent(t, "LL_miss_rate", "LL misses", missed, refs + insns);
    fact_number(t, "LL_mpki", "LL misses in 1000 instructions", per_1000(missed, insns));
    if (m->shape.n_tlbs)
        fact_number(t, "walk_mpki", "pages in no TLB, in 1000 instructions",
                    per_1000(sum_of(m, total, walk, true, true), insns));
    if (slots.n == slots.invalidated)
        return;
    const struct coherence_stats n = hierarchy_coherence(&m->hierarchy);
    fact_count(t, "cores", "cores", m->shape.cores);
    fact_count(t, "upgrades", "writes to lines that the core had, but shared", n.upgrades);
    fact_count(t, "interventions", "dirty lines that another core asked for", n.interventions);
}

/* -- Sharing ------------------------------------------------------------------------------------ */

/* A line, and the instruction that took it from others most often. */
struct shared_line {
    const struct share *line;
    u32 part;
    u64 pc, most;
};
struct shared_lines {
    VEC(struct shared_line) v;
};

static int by_invalidations(const void *a, const void *b)
{
    const struct share *x = ((const struct shared_line *)a)->line,
                       *y = ((const struct shared_line *)b)->line;
    if (x->invalidations != y->invalidations)
        return x->invalidations > y->invalidations ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static int by_line(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->other < y->other ? -1 : x->other > y->other;
}

static void add_line(struct table *t, const struct misses *m, struct sources *s,
                     const struct shared_line *x)
{
    const struct share *n = x->line;
    const u32 process = (u32)(n->line >> 44) - 1;
    const u64 length = m->shape.cache[m->shape.path[SIDE_data][0]].line;
    const u64 address = (n->line & LINE_NUMBER) * length;
    char names[1024];
    const struct source at = sources_find(s, process, x->pc);
    const char *kind = !n->regained                       ? "none"
                       : !n->regained_false               ? "true"
                       : n->regained_false == n->regained ? "false"
                                                          : "both";
    table_row(t, n->invalidations, n->regained, n->regained_false, kind, address, (u64)process,
              (u64)__builtin_popcountll(n->cores),
              lent_text(&m->lent[x->part], n->line, m->variables, names, sizeof names), at.at.file,
              (u64)at.at.line, at.at.function, at.module ? at.module->path : NULL);
}

/* The lines of a part: what belongs to one comes after it, once sorted. */
static void add_shares(struct sharing *s, u32 part, struct shared_lines *to)
{
    if (s->shares.n)
        qsort(s->shares.v, s->shares.n, sizeof *s->shares.v, by_line);
    for (size_t i = 0; i < s->shares.n; i++) {
        const struct share *x = &s->shares.v[i];
        if (x->other == SHARE_LINE)
            vec_push(&to->v, ((struct shared_line){.line = x, .part = part}));
        struct shared_line *line = &to->v.v[to->v.n - 1];
        if (x->other & SHARE_CODE && x->invalidations > line->most) {
            line->most = x->invalidations;
            line->pc = x->other & ~SHARE_CODE;
        }
    }
}

static void add_sharing(struct misses *m, struct sources *s, struct result *r)
{
    struct shared_lines lines = {0};
    struct table *t = result_table(r, TABLE_rows, "sharing",
                                   "lines that cores take from each other, and where most");
    table_add_column(t, CELL_count, "invalidations", NULL);
    table_add_column(t, CELL_count, "misses", NULL);
    table_add_column(t, CELL_count, "false_misses", NULL);
    table_add_column(t, CELL_text, "sharing", NULL);
    table_add_column(t, CELL_address, "address", NULL);
    table_add_column(t, CELL_count, "process", NULL);
    table_add_column(t, CELL_count, "cores", NULL);
    table_add_column(t, CELL_text, "variables", NULL);
    table_add_column(t, CELL_text, "file", NULL);
    table_add_column(t, CELL_count, "line", NULL);
    table_add_column(t, CELL_text, "function", NULL);
    table_add_column(t, CELL_text, "module", NULL);
    for (u32 i = 0; i < m->parts; i++) {
        lent_sort(&m->lent[i]);
        add_shares(&m->hierarchy.part[i].sharing, i, &lines);
    }
    if (lines.v.n)
        qsort(lines.v.v, lines.v.n, sizeof *lines.v.v, by_invalidations);
    for (size_t i = 0; i < lines.v.n; i++)
        add_line(t, m, s, &lines.v.v[i]);
    vec_fini(&lines.v);
}

void misses_tell(struct misses *m, struct sources *s, struct result *r)
{
    u64 total[SPOT_COUNTS];
    spots_total(&m->spots, total);
    add_caches(m, total, r);
    add_tlbs(m, r);
    add_total(m, total, r);
    if (m->sharing)
        add_sharing(m, s, r);
    if (m->asks_why)
        why_tell(&m->why, m->spots.by, m->variables, s, r);
    struct table *t = result_table(r, TABLE_rows, "rows", "where");
    for (u32 c = 0; c < m->n_columns; c++)
        table_add_column(t, CELL_count, m->column[c].name, m->column[c].what);
    spots_table(&m->spots, s, weight_of(m, m->sort), t);
}
