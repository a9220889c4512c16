/* SPDX-License-Identifier: MIT */
/* seen: which instructions were executed, each once; for bench/novel. */
#include <gait.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void *begin(struct gait_setup *s __attribute__((unused)))
{
    return gait_counts(1);
}

static void batch(void *counts, const struct gait_batch *b)
{
    uint64_t *n = gait_counts_of(counts, b);
    for (const struct gait_run *r = b->runs; r < b->runs + b->n_runs; r++)
        for (uint32_t i = r->insn; i < r->insn + r->n_insns; i++)
            n[i]++;
}

static void merge(void *into, void *from)
{
    gait_counts_merge(into, from);
}

static void finish(void *counts, struct gait_result *r)
{
    static const char *const columns[] = {"times"};
    gait_counts_table(counts, r, GAIT_BY_INSTRUCTION, "seen", "by instruction", columns);
}

const struct gait_tool gait_tool = {
    .api = GAIT_API,
    .name = "seen",
    .split = GAIT_SPLIT_TIME,
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .finish = finish,
};
