/* SPDX-License-Identifier: MIT */
/* A predictor after Seznec's and Michaud's TAGE: behind a bimodal base, tagged tables for ever longer histories.
 *
 * The latest L outcomes, as a number of L bits, are folded into w bits: its pieces of w bits, beginning with the latest outcomes, are
 * combined by exclusive or. A fold need not be computed anew: an outcome more turns it by one bit, and the one that is now too old is
 * taken out where it has come to. */
#include "analyze/predictor.h"

enum {
    RING_MASK = 2 * TAGE_HISTORY - 1,
    COUNTER_LEAST = -4,
    COUNTER_MOST = 3,
    USEFUL_MOST = 3,
    ALTERNATIVE_MOST = 15,
    ALTERNATIVE_FROM = 8, /* from here on, new entries are not trusted */
};

/* What one branch finds: entries 0 .. tables - 1, and which of them speak; -1 is the base. */
struct found {
    struct tagged *entry[TAGE_TABLES];
    u16 tag[TAGE_TABLES];
    int provider, alternative;
    bool provided, otherwise; /* their predictions */
    bool is_new;              /* the provider's entry has shown nothing yet */
    u8 *base;
};

/* -- History ------------------------------------------------------------------------------------ */

static u32 low_bits(u32 x, u32 n)
{
    return x & ((1u << n) - 1);
}

/* The fold to w bits after one more outcome; `old`, which is too old now, has come to bit `at`. */
static inline u32 fold_on(u32 fold, u32 w, u32 taken, u32 old, u32 at)
{
    fold = fold << 1 | fold >> (w - 1);
    return low_bits(fold ^ taken ^ old << at, w);
}

static void remember(const struct predictor_shape *s, struct history *h, bool taken)
{
    for (u32 i = 0; i < s->tables; i++) {
        struct folds *f = &h->folds[i];
        const struct folds *at = &s->oldest[i];
        u32 old = h->ring[(h->newest + s->lengths[i] - 1) & RING_MASK];
        f->index = fold_on(f->index, s->index_bits, taken, old, at->index);
        f->tag = fold_on(f->tag, s->tag, taken, old, at->tag);
        f->tag2 = fold_on(f->tag2, s->tag - 1, taken, old, at->tag2);
    }
    h->newest = (h->newest - 1) & RING_MASK;
    h->ring[h->newest] = taken;
}

/* -- Predicting --------------------------------------------------------------------------------- */

static bool says(const struct found *f, int table)
{
    return table < 0 ? *f->base >= 2 : f->entry[table]->counter >= 0;
}

static void find(const struct predictor *p, const struct history *h, u32 at, struct found *f)
{
    const struct predictor_shape *s = p->shape;
    f->provider = f->alternative = -1;
    f->base = &p->counters[at & (s->entries - 1)];
    for (u32 i = 0; i < s->tables; i++) {
        const struct folds *fold = &h->folds[i];
        u32 index = low_bits(at ^ at >> s->index_bits ^ fold->index, s->index_bits);
        f->tag[i] = (u16)low_bits(at ^ fold->tag ^ fold->tag2 << 1, s->tag);
        f->entry[i] = &p->tagged[(size_t)i * s->tagged + index];
        if (f->entry[i]->tag == f->tag[i]) {
            f->alternative = f->provider;
            f->provider = (int)i;
        }
    }
    f->provided = says(f, f->provider);
    f->otherwise = says(f, f->alternative);
    const struct tagged *e = f->provider < 0 ? NULL : f->entry[f->provider];
    f->is_new = e && !e->useful && (e->counter == 0 || e->counter == -1);
}

static bool prediction(const struct predictor *p, const struct found *f)
{
    return f->is_new && p->use_alternative >= ALTERNATIVE_FROM ? f->otherwise : f->provided;
}

/* -- Learning ----------------------------------------------------------------------------------- */

static void learn_trust(struct predictor *p, const struct found *f, bool taken)
{
    struct tagged *e = f->entry[f->provider];
    if (f->provided == f->otherwise)
        return;
    if (f->is_new && f->otherwise == taken)
        p->use_alternative += p->use_alternative < ALTERNATIVE_MOST;
    else if (f->is_new)
        p->use_alternative -= p->use_alternative > 0;
    if (f->provided == taken)
        e->useful = (u8)(e->useful + (e->useful < USEFUL_MOST));
    else
        e->useful = (u8)(e->useful - (e->useful > 0));
}

static void learn_outcome(const struct found *f, bool taken)
{
    if (f->provider < 0) {
        *f->base = counter_learns(*f->base, taken);
        return;
    }
    s8 *c = &f->entry[f->provider]->counter;
    *c = (s8)(taken ? *c + (*c < COUNTER_MOST) : *c - (*c > COUNTER_LEAST));
}

/* A longer history may know better: the shortest one whose entry is of no use gets it. */
static void allocate(const struct predictor *p, const struct found *f, bool taken)
{
    const int tables = (int)p->shape->tables;
    for (int i = f->provider + 1; i < tables; i++)
        if (!f->entry[i]->useful) {
            *f->entry[i] = (struct tagged){.tag = f->tag[i], .counter = taken ? 0 : -1};
            return;
        }
    for (int i = f->provider + 1; i < tables; i++)
        f->entry[i]->useful--;
}

static void grow_older(struct predictor *p)
{
    const size_t n = (size_t)p->shape->tables * p->shape->tagged;
    if (++p->age < p->shape->aging)
        return;
    p->age = 0;
    for (size_t i = 0; i < n; i++)
        p->tagged[i].useful /= 2;
}

void tage_run(struct predictor *p, struct history *h, const struct choice *c, size_t n,
              struct mispredicted *m)
{
    for (size_t i = 0; i < n; i++) {
        const bool taken = choice_taken(c[i]);
        struct found f;
        find(p, h, c[i].at, &f);
        const bool right = prediction(p, &f) == taken;
        if (f.provider >= 0)
            learn_trust(p, &f, taken);
        learn_outcome(&f, taken);
        if (!right) {
            allocate(p, &f, taken);
            count_misprediction(m, c[i]);
        }
        grow_older(p);
        remember(p->shape, h, taken);
    }
}
