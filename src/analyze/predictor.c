/* SPDX-License-Identifier: MIT */
/* Tables of counters of two bits: by the branch alone (bimodal), or with how the latest branches went (gshare). */
#include "analyze/predictor.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>

enum { WEAKLY_NOT_TAKEN = 1, WEAKLY_TAKEN = 2, ENTRIES = 1 << 24 /* at most */ };

static bool is_power_of_two(u32 x)
{
    return x && !(x & (x - 1));
}

static const char *tage_fault(const struct predictor_shape *s)
{
    if (s->tables < 1 || s->tables > TAGE_TABLES)
        return "has 1 to 16 tables";
    if (s->tagged < 2 || s->tagged > ENTRIES || !is_power_of_two(s->tagged))
        return "has a power of two from 2 to 16777216 of entries";
    if (s->tag < 4 || s->tag > 16)
        return "has tags of 4 to 16 bits";
    if (s->shortest < 1 || s->shortest > s->longest || s->longest > TAGE_HISTORY)
        return "has histories of 1 to 1024 branches, the shortest before the longest";
    return NULL;
}

const char *predictor_fault(const struct predictor_shape *s, const char **option)
{
    *option = "entries";
    if (s->entries < 2 || s->entries > ENTRIES || !is_power_of_two(s->entries))
        return "is a power of two from 2 to 16777216";
    *option = "history";
    if (s->kind == PREDICTOR_gshare && 1ull << MIN(s->history, 63u) > s->entries)
        return "is no longer than the index of a counter: 2 to its power is at most the entries";
    *option = "aging";
    if (!s->aging)
        return "is at least 1";
    *option = "tage";
    return tage_fault(s);
}

static u32 length_of(const struct predictor_shape *s, u32 table)
{
    const double shortest = s->shortest, ratio = (double)s->longest / shortest;
    double part = s->tables > 1 ? (double)table / (double)(s->tables - 1) : 0.0;
    return MIN((u32)(shortest * pow(ratio, part) + 0.5), s->longest);
}

void predictor_complete(struct predictor_shape *s)
{
    s->index_bits = (u32)__builtin_ctz(s->tagged);
    for (u32 i = 0; i < s->tables; i++) {
        const u32 length = s->lengths[i] = length_of(s, i);
        s->oldest[i] =
            (struct folds){length % s->index_bits, length % s->tag, length % (s->tag - 1)};
    }
}

void predictor_init(struct predictor *p, const struct predictor_shape *s)
{
    *p = (struct predictor){.shape = s, .use_alternative = 8};
    p->counters = malloc(s->entries);
    check(p->counters != NULL);
    memset(p->counters, WEAKLY_NOT_TAKEN, s->entries);
    if (s->kind == PREDICTOR_tage) {
        p->tagged = calloc((size_t)s->tables * s->tagged, sizeof *p->tagged);
        check(p->tagged != NULL);
    }
}

void predictor_fini(struct predictor *p)
{
    free(p->counters);
    free(p->tagged);
}

static void bimodal_run(struct predictor *p, const struct choice *c, size_t n,
                        struct mispredicted *m)
{
    const u32 mask = p->shape->entries - 1;
    for (size_t i = 0; i < n; i++) {
        u8 *counter = &p->counters[c[i].at & mask];
        if ((*counter >= WEAKLY_TAKEN) != choice_taken(c[i]))
            count_misprediction(m, c[i]);
        *counter = counter_learns(*counter, choice_taken(c[i]));
    }
}

static void gshare_run(struct predictor *p, struct history *h, const struct choice *c, size_t n,
                       struct mispredicted *m)
{
    const u32 mask = p->shape->entries - 1;
    const u64 latest = (1ull << p->shape->history) - 1;
    u64 bits = h->bits;
    for (size_t i = 0; i < n; i++) {
        u8 *counter = &p->counters[(c[i].at ^ (u32)(bits & latest)) & mask];
        if ((*counter >= WEAKLY_TAKEN) != choice_taken(c[i]))
            count_misprediction(m, c[i]);
        *counter = counter_learns(*counter, choice_taken(c[i]));
        bits = bits << 1 | choice_taken(c[i]);
    }
    h->bits = bits;
}

void predictor_run(struct predictor *p, struct history *h, const struct choice *c, size_t n,
                   struct mispredicted *m)
{
    switch (p->shape->kind) {
    case PREDICTOR_bimodal:
        bimodal_run(p, c, n, m);
        break;
    case PREDICTOR_gshare:
        gshare_run(p, h, c, n, m);
        break;
    default:
        tage_run(p, h, c, n, m);
    }
}
