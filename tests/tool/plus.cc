// SPDX-License-Identifier: MIT
// A tool in C++: how many different instructions ran.
#include <gait.h>

#include <set>
#include <utility>

using pcs = std::set<std::pair<uint32_t, uint64_t>>;

static void *begin(gait_setup *)
{
    return new pcs;
}

static void batch(void *state, const struct gait_batch *b)
{
    for (uint32_t i = 0; i < b->n_runs; i++)
        for (uint32_t k = 0; k < b->runs[i].n_insns; k++)
            static_cast<pcs *>(state)->insert({b->process, b->insns[b->runs[i].insn + k].pc});
}

static void merge(void *into, void *from)
{
    pcs *other = static_cast<pcs *>(from);
    static_cast<pcs *>(into)->insert(other->begin(), other->end());
    delete other;
}

static void finish(void *state, gait_result *r)
{
    struct gait_table *t = gait_table(r, GAIT_FACTS, "plus", "instructions");
    gait_column(t, GAIT_COUNT, "different");
    gait_row(t, static_cast<uint64_t>(static_cast<pcs *>(state)->size()));
    delete static_cast<pcs *>(state);
}

const struct gait_tool gait_tool = {GAIT_API, "plus", nullptr, GAIT_SPLIT_TIME, 0, begin, batch, merge, finish};
