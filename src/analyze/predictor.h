/* SPDX-License-Identifier: MIT */
/* Simulated predictors of conditional branches. gait-branches(1) has the rules, so that they can be written down a second time. */
#ifndef PREDICTOR_H
#define PREDICTOR_H

#include "analyze/routes.h"

enum predictor_kind { PREDICTOR_bimodal, PREDICTOR_gshare, PREDICTOR_tage, PREDICTORS };

enum { TAGE_TABLES = 16, TAGE_HISTORY = 1024 /* at most */ };

/* The folds of the latest outcomes for one tagged table: for its index, and two for its tag. */
struct folds {
    u32 index, tag, tag2;
};

struct predictor_shape {
    enum predictor_kind kind;
    u32 entries; /* counters, a power of two; of tage's base */
    u32 history; /* gshare's, in bits */
    /* tage's */
    u32 tables, tagged, tag;  /* tagged tables, entries of each, bits of a tag */
    u32 shortest, longest;    /* history of the first and of the last */
    u32 lengths[TAGE_TABLES]; /* ... of each; predictor_complete fills them in */
    u32 index_bits;           /* ... and these: of an index, */
    struct folds oldest[TAGE_TABLES]; /* and where in the folds an outcome is that has become too old */
    u32 aging;                /* after so many branches usefulness is halved */
};

/* An entry of a tagged table. */
struct tagged {
    u16 tag;
    s8 counter; /* -4 .. 3: taken from 0 on */
    u8 useful;  /* 0 .. 3 */
};

/* What branches leave behind. */
struct predictor {
    const struct predictor_shape *shape;
    u8 *counters;          /* 0 .. 3: taken from 2 on */
    struct tagged *tagged; /* table by table */
    u32 use_alternative;   /* 0 .. 15 */
    u32 age;
};

/* How the latest branches of a thread went. */
struct history {
    u64 bits; /* the latest lowest */
    struct folds folds[TAGE_TABLES];
    u32 newest; /* in the ring, which goes on behind it with the older ones */
    u8 ring[2 * TAGE_HISTORY];
};

/* Mispredictions, by branch number. */
struct mispredicted {
    VEC(u64) count;
};

/* What is wrong with a shape, as the rest of a sentence about an option, whose name is put to *option; NULL: nothing. */
const char *predictor_fault(const struct predictor_shape *s, const char **option);
/* What follows from the rest of a shape that is sound. */
void predictor_complete(struct predictor_shape *s);
void predictor_init(struct predictor *p, const struct predictor_shape *s);
void predictor_fini(struct predictor *p);
/* Predict these branches of one thread, and learn how they went. */
void predictor_run(struct predictor *p, struct history *h, const struct choice *c, size_t n,
                   struct mispredicted *m);

/* predictor_run for tage. */
void tage_run(struct predictor *p, struct history *h, const struct choice *c, size_t n,
              struct mispredicted *m);

static inline bool choice_taken(struct choice c)
{
    return c.what & 1;
}

static inline void count_misprediction(struct mispredicted *m, struct choice c)
{
    vec_reach(&m->count, c.what >> 1);
    m->count.v[c.what >> 1]++;
}

/* A counter of two bits. */
static inline u8 counter_learns(u8 counter, bool taken)
{
    return (u8)(taken ? counter + (counter < 3) : counter - (counter > 0));
}

#endif
