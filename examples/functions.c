/* SPDX-License-Identifier: MIT */
/* functions: how many instructions each function executed, and how many bytes it read and wrote.
 *
 * Counts can be added up, so any batch may go to any state. */
#include <gait.h>

enum { INSTRUCTIONS, READ, WRITTEN, EACH };
static const char *const columns[EACH] = {"instructions", "read", "written"};

static void *begin(struct gait_setup *s __attribute__((unused)))
{
    return gait_counts(EACH);
}

static void batch(void *counts, const struct gait_batch *b)
{
    uint64_t *n = gait_counts_of(counts, b);
    for (const struct gait_run *r = b->runs; r < b->runs + b->n_runs; r++)
        for (uint32_t i = r->insn; i < r->insn + r->n_insns; i++)
            n[i * EACH + INSTRUCTIONS]++;
    for (const struct gait_access *a = b->accesses; a < b->accesses + b->n_accesses; a++) {
        if (a->kind != GAIT_STORE)
            n[a->insn * EACH + READ] += a->bytes;
        if (a->kind != GAIT_LOAD)
            n[a->insn * EACH + WRITTEN] += a->bytes;
    }
}

static void merge(void *into, void *from)
{
    gait_counts_merge(into, from);
}

static void finish(void *counts, struct gait_result *r)
{
    gait_counts_table(counts, r, GAIT_BY_FUNCTION, "functions", "by function", columns);
}

const struct gait_tool gait_tool = {
    .api = GAIT_API,
    .name = "functions",
    .split = GAIT_SPLIT_TIME,
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .finish = finish,
};
