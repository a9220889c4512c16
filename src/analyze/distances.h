/* SPDX-License-Identifier: MIT */
/* Reuse distances, counted: how many different lines were touched since the last touch of this one.
 *
 * Buckets are halves of octaves: 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15, .. A cache of so many lines as a bucket begins with, which keeps
 * those used latest, misses exactly what is in this bucket and the later ones, and what is cold.
 *
 * Of a sample of lines each count stands for many. Its lines are dealt out to groups: how much these differ tells how much chance had to
 * say in the sum of them. */
#ifndef DISTANCES_H
#define DISTANCES_H

#include "analyze/result.h"

enum { DISTANCES_BUCKETS = 128, DISTANCES_SAMPLES = 16, DISTANCES_GROUPS = 1 + DISTANCES_SAMPLES };

struct distances {
    u64 references, accesses;         /* all there were, of a sample too */
    unsigned __int128 sum;            /* of distances; of less than 2^32 lines each */
    u64 cold[DISTANCES_GROUPS];       /* the first group has what stands for itself alone */
    u64 count[DISTANCES_GROUPS][DISTANCES_BUCKETS]; /* but for the first bucket, which has all the others */
};

static inline u32 distance_bucket(u64 d)
{
    if (d < 2)
        return (u32)d;
    u32 log2 = 63 - (u32)__builtin_clzll(d);
    return 2 * log2 + (u32)(d >> (log2 - 1) & 1);
}

/* The smallest distance of a bucket. */
static inline u64 bucket_begin(u32 bucket)
{
    return bucket < 2 ? bucket : (2ull | (bucket & 1)) << (bucket / 2 - 1);
}

/* -- Samples ------------------------------------------------------------------------------------ */

/* Which lines are in a sample of one in 2^n is decided by chance, but for each line once and for all; those of a smaller sample
 * are in a larger one, too. */
static inline u64 line_chance(u64 line)
{
    line *= 0x9e3779b97f4a7c15;
    line ^= line >> 32;
    line *= 0xd6e8feb86659fd93;
    return line ^ line >> 32;
}

static inline bool line_is_sampled(u64 line, u32 log2)
{
    return line_chance(line) >> 1 < 1ull << (63 - log2);
}

static inline u32 line_group(u64 line, u32 log2)
{
    return log2 ? 1 + (u32)(line_chance(line) % DISTANCES_SAMPLES) : 0;
}

/* -- Counting ----------------------------------------------------------------------------------- */

static inline void distances_count(struct distances *x, u32 group, u64 d, u64 times)
{
    x->count[group][distance_bucket(d)] += times;
    x->sum += d * times;
}

void distances_add(struct distances *to, const struct distances *from);

/* -- Results ------------------------------------------------------------------------------------ */

/* What is below this is not told apart: there were too few lines of the sample in between. */
u64 distances_least(u32 sample);
u64 distances_cold(const struct distances *x);
/* The mean of those that are not cold. */
double distances_mean(const struct distances *x);

/* How they are shown. */
struct distances_view {
    u32 line;   /* bytes of one */
    u32 sample; /* log2 of the lines that one stands for, at last */
};

/* Whose they are: a process and a thread, in two columns before all others. */
struct distances_owner {
    u32 process, thread;
};

/* Tables of them, then rows for each owner; without owners, for all together. */
struct table *distances_curve_table(struct result *r, const char *name, const char *title,
                                    const struct distances_view *v, bool owners);
void distances_curve(const struct distances *x, const struct distances_view *v,
                     const struct distances_owner *owner, struct table *t);
struct table *distances_histogram_table(struct result *r, const char *name, const char *title, bool owners);
void distances_histogram(const struct distances *x, const struct distances_view *v,
                         const struct distances_owner *owner, struct table *t);

/* The mean error of the points of the curve, in percent of all accesses. */
double distances_error(const struct distances *x, const struct distances_view *v);

#endif
