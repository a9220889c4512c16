/* SPDX-License-Identifier: MIT */
/* The analysis `branches`: which branches simulated predictors foretell wrongly. */
#include "analyze/branches.h"
#include "analyze/analysis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const predictor_names[PREDICTORS] = {"bimodal", "gshare", "tage"};
static const char *const thread_names[] = {"private", "shared"};

/* -- The study ---------------------------------------------------------------------------------- */

static void *branches_make(void)
{
    struct branches *b = zeros(1, sizeof *b);
    b->shape = (struct predictor_shape){.kind = PREDICTOR_tage,
                                        .entries = 16384,
                                        .history = 12,
                                        .tables = 6,
                                        .tagged = 1024,
                                        .tag = 10,
                                        .shortest = 4,
                                        .longest = 160,
                                        .aging = 262144};
    b->targets = 4096;
    b->returns = 16;
    b->spots.n_counts = BRANCH_COUNTS;
    return b;
}

/* N numbers with commas between them. */
static int read_numbers(u32 *to, u32 n, const char *value, struct err *e)
{
    const char *at = value;
    for (u32 i = 0; i < n; i++) {
        char *end;
        u64 x = strtoull(at, &end, 10);
        if (*at < '0' || *at > '9' || x > UINT32_MAX || *end != (i + 1 < n ? ',' : 0))
            return err_set(e, "wants %u number%s, not %s", n, n > 1 ? "s with commas" : "", value);
        to[i] = (u32)x;
        at = end + 1;
    }
    return 0;
}

static int read_word(u32 *to, const char *const *words, u32 n, const char *value, struct err *e)
{
    char list[64] = "";
    for (*to = 0; *to < n; ++*to) {
        if (!strcmp(words[*to], value))
            return 0;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *to ? ", " : "",
                 words[*to]);
    }
    return err_set(e, "is one of %s, not %s", list, value);
}

static int set_tage(struct predictor_shape *s, const char *value, struct err *e)
{
    u32 n[5];
    if (read_numbers(n, ARRAY_LEN(n), value, e))
        return -1;
    s->tables = n[0];
    s->tagged = n[1];
    s->tag = n[2];
    s->shortest = n[3];
    s->longest = n[4];
    return 0;
}

static int branches_set(void *branches, const char *option, const char *value, struct err *e)
{
    struct branches *b = branches;
    const struct {
        const char *name;
        u32 *to;
    } numbers[] = {{"entries", &b->shape.entries},
                   {"history", &b->shape.history},
                   {"aging", &b->shape.aging},
                   {"targets", &b->targets},
                   {"returns", &b->returns}};
    u32 word;
    for (u32 i = 0; i < ARRAY_LEN(numbers); i++)
        if (!strcmp(option, numbers[i].name))
            return read_numbers(numbers[i].to, 1, value, e);
    if (!strcmp(option, "by"))
        return spots_by(&b->spots, value, e);
    if (!strcmp(option, "tage"))
        return set_tage(&b->shape, value, e);
    bool kind = !strcmp(option, "predictor");
    if (read_word(&word, kind ? predictor_names : thread_names, kind ? PREDICTORS : 2, value, e))
        return -1;
    if (kind)
        b->shape.kind = word;
    else
        b->shared = word;
    return 0;
}

enum { TARGETS_LIMIT = 1 << 24, RETURNS_LIMIT = 1 << 16 };

static const char *fault_of(const struct branches *b, const char **option)
{
    const char *fault = predictor_fault(&b->shape, option);
    if (fault)
        return fault;
    *option = "targets";
    if (!b->targets || b->targets > TARGETS_LIMIT || b->targets & (b->targets - 1))
        return "is a power of two from 1 to 16777216";
    *option = "returns";
    return !b->returns || b->returns > RETURNS_LIMIT ? "is from 1 to 65536" : NULL;
}

/* Counters of a bimodal table have nothing to do with each other; any other predictor is one. */
static int branches_begin(void *branches, u32 workers, struct err *e)
{
    struct branches *b = branches;
    const char *option, *fault = fault_of(b, &option);
    if (fault)
        return err_set(e, "--%s %s", option, fault);
    predictor_complete(&b->shape);
    b->shares = b->shape.kind == PREDICTOR_bimodal && workers > 2 ? workers - 1 : 1;
    b->parts = MIN(workers, b->shares + 1);
    if (b->shared) {
        b->predictors = zeros(b->shares, sizeof *b->predictors);
        for (u32 k = 0; k < b->shares; k++)
            predictor_init(&b->predictors[k], &b->shape);
        last_targets_init(&b->last, b->targets);
    }
    return (int)b->parts;
}

static void branches_drop(void *branches)
{
    struct branches *b = branches;
    for (u32 k = 0; b->predictors && k < b->shares; k++)
        predictor_fini(&b->predictors[k]);
    free(b->predictors);
    free(b->last.v);
    spots_fini(&b->spots);
    free(b);
}

/* -- Results ------------------------------------------------------------------------------------ */

static void add_lengths(const struct predictor_shape *s, struct table *t)
{
    char text[TAGE_TABLES * 8] = "";
    for (u32 i = 0; i < s->tables; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u", i ? "," : "",
                 s->lengths[i]);
    fact_text(t, "histories", "branches that its tables look back", text);
}

static void add_predictor(const struct branches *b, struct result *r)
{
    const struct predictor_shape *s = &b->shape;
    struct table *t = result_table(r, TABLE_facts, "predictor", "predictor");
    fact_text(t, "predictor", NULL, predictor_names[s->kind]);
    fact_count(t, "entries", "counters", s->entries);
    if (s->kind == PREDICTOR_gshare)
        fact_count(t, "history", "branches it looks back", s->history);
    if (s->kind == PREDICTOR_tage) {
        fact_count(t, "tables", "tagged tables", s->tables);
        fact_count(t, "tagged", "entries of a tagged table", s->tagged);
        fact_count(t, "tag", "bits of a tag", s->tag);
        add_lengths(s, t);
        fact_count(t, "aging", "branches until usefulness is halved", s->aging);
    }
    fact_count(t, "targets", "entries for last targets", b->targets);
    fact_count(t, "returns", "entries of the stack of returns", b->returns);
    fact_text(t, "threads", "tables of threads", thread_names[b->shared]);
}

static void add_total(const struct branches *b, struct result *r)
{
    struct table *t = result_table(r, TABLE_facts, "total", "in all");
    const u64 *conditional = b->sums[SUM_conditional], *indirect = b->sums[SUM_indirect],
              *returns = b->sums[SUM_returns];
    u64 missed = conditional[BRANCH_missed] + indirect[BRANCH_missed] + returns[BRANCH_missed];
    fact_count(t, "instructions", NULL, b->insns);
    fact_count(t, "conditional", "conditional branches", conditional[BRANCH_executed]);
    fact_count(t, "taken", "... taken", conditional[BRANCH_taken]);
    fact_count(t, "conditional_missed", "... mispredicted", conditional[BRANCH_missed]);
    fact_percent(t, "conditional_miss_rate", "... rate of mispredictions",
                 conditional[BRANCH_missed], conditional[BRANCH_executed]);
    fact_count(t, "indirect", "indirect jumps and calls", indirect[BRANCH_executed]);
    fact_count(t, "indirect_missed", "... mispredicted", indirect[BRANCH_missed]);
    fact_percent(t, "indirect_miss_rate", "... rate of mispredictions", indirect[BRANCH_missed],
                 indirect[BRANCH_executed]);
    fact_count(t, "returns", NULL, returns[BRANCH_executed]);
    fact_count(t, "returns_missed", "... mispredicted", returns[BRANCH_missed]);
    fact_percent(t, "returns_miss_rate", "... rate of mispredictions", returns[BRANCH_missed],
                 returns[BRANCH_executed]);
    fact_count(t, "mispredicted", "all that were mispredicted", missed);
    fact_number(t, "mpki", "... in 1000 instructions",
                b->insns ? 1000.0 * (double)missed / (double)b->insns : 0.0);
}

static void branches_finish(void *branches, struct sources *s, struct result *r)
{
    struct branches *b = branches;
    add_predictor(b, r);
    add_total(b, r);
    struct table *t = result_table(r, TABLE_rows, "rows", "where");
    table_add_column(t, CELL_count, "executed", NULL);
    table_add_column(t, CELL_count, "taken", NULL);
    table_add_column(t, CELL_count, "mispredicted", NULL);
    spots_table(&b->spots, s, 1 << BRANCH_missed, t);
}

static const struct analysis_option options[] = {
    {"predictor", "bimodal|gshare|tage", "of conditional branches; tage"},
    {"entries", "N", "its counters of two bits; 16384"},
    {"history", "BITS", "gshare: how many branches it looks back; 12"},
    {"tage", "TABLES,ENTRIES,TAG,SHORTEST,LONGEST", "its tagged tables; 6,1024,10,4,160"},
    {"aging", "N", "tage: after so many branches usefulness is halved; 262144"},
    {"targets", "N", "entries of the table of last targets; 4096"},
    {"returns", "N", "entries of the stack of returns; 16"},
    {"threads", "private|shared", "has each thread tables of its own, or all the same; private"},
    {"by", "function|line|instruction", "what a row stands for"},
    {0},
};

const struct analysis analysis_branches = {
    .name = "branches",
    .options = options,
    .wants_memory = false,
    .make = branches_make,
    .set = branches_set,
    .begin = branches_begin,
    .finish = branches_finish,
    .drop = branches_drop,
    .memory = foretold_memory,
    .end = foretold_end,
    .work = foretold_work,
    .open = foretold_open,
    .add = foretold_add,
    .take = foretold_take,
    .merge = foretold_merge,
};
