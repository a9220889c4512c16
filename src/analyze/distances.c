/* SPDX-License-Identifier: MIT */
/* Reuse distances as tables, and how far those of a sample may be wrong. */
#include "analyze/distances.h"

#include <math.h>

/* A distance is known if at least so many lines of the sample were in between. */
enum { RESOLVED = 4 };

void distances_add(struct distances *to, const struct distances *from)
{
    to->references += from->references;
    to->accesses += from->accesses;
    to->sum += from->sum;
    for (u32 g = 0; g < DISTANCES_GROUPS; g++) {
        to->cold[g] += from->cold[g];
        for (u32 b = 0; b < DISTANCES_BUCKETS; b++)
            to->count[g][b] += from->count[g][b];
    }
}

/* -- Sums --------------------------------------------------------------------------------------- */

u64 distances_cold(const struct distances *x)
{
    u64 n = 0;
    for (u32 g = 0; g < DISTANCES_GROUPS; g++)
        n += x->cold[g];
    return n;
}

/* One group's part of what a cache misses that has as many lines as the bucket begins with. */
static u64 group_misses(const struct distances *x, u32 group, u32 bucket)
{
    u64 n = x->cold[group];
    for (u32 b = bucket; b < DISTANCES_BUCKETS; b++)
        n += x->count[group][b];
    return n;
}

/* There are no more of them than accesses, whatever a sample says. */
static u64 misses(const struct distances *x, u32 bucket)
{
    u64 n = 0;
    for (u32 g = 0; g < DISTANCES_GROUPS; g++)
        n += group_misses(x, g, bucket);
    return MIN(n, x->accesses);
}

double distances_mean(const struct distances *x)
{
    u64 cold = distances_cold(x);
    return cold < x->accesses ? (double)x->sum / (double)(x->accesses - cold) : 0;
}

u64 distances_least(u32 sample)
{
    return sample ? (u64)RESOLVED << sample : 0;
}

/* The first bucket that is shown, and the one behind the last that is not empty. */
static u32 first_bucket(const struct distances_view *v)
{
    return distance_bucket(distances_least(v->sample));
}

static u32 end_bucket(const struct distances *x, const struct distances_view *v)
{
    u32 end = DISTANCES_BUCKETS, first = first_bucket(v);
    while (end > first && misses(x, end - 1) == misses(x, DISTANCES_BUCKETS))
        end--;
    return end;
}

static double percent(double part, u64 of)
{
    return of ? 100 * part / (double)of : 0;
}

/* -- Errors ------------------------------------------------------------------------------------- */

/* The standard error of a sum over groups that each got their lines by chance. */
static double chance_of_lines(const struct distances *x, u32 bucket)
{
    double mean = 0, squares = 0;
    for (u32 g = 1; g < DISTANCES_GROUPS; g++)
        mean += (double)group_misses(x, g, bucket) / DISTANCES_SAMPLES;
    for (u32 g = 1; g < DISTANCES_GROUPS; g++) {
        double d = (double)group_misses(x, g, bucket) - mean;
        squares += d * d;
    }
    return sqrt(squares * DISTANCES_SAMPLES / (DISTANCES_SAMPLES - 1));
}

/* Misses of a cache of so many lines, between the buckets by a straight line. */
static double misses_of_size(const struct distances *x, double lines)
{
    u32 b = distance_bucket((u64)lines);
    double begin = (double)bucket_begin(b), end = (double)bucket_begin(b + 1);
    double here = (double)misses(x, b), next = (double)misses(x, b + 1);
    return here + (next - here) * (lines - begin) / (end - begin);
}

/* A distance of so many lines is known by how many of them were in the sample, so the curve might belong to a cache that much
 * smaller or larger. */
static double chance_of_distance(const struct distances *x, u32 bucket, u32 sample)
{
    double lines = (double)bucket_begin(bucket);
    double off = MIN(sqrt(lines * (double)((1ull << sample) - 1)), lines);
    return (misses_of_size(x, lines - off) - misses_of_size(x, lines + off)) / 2;
}

/* Of a point of the curve, in percent of all accesses. */
static double error_at(const struct distances *x, const struct distances_view *v, u32 bucket)
{
    return percent(hypot(chance_of_lines(x, bucket), chance_of_distance(x, bucket, v->sample)),
                   x->accesses);
}

double distances_error(const struct distances *x, const struct distances_view *v)
{
    double sum = 0;
    u32 first = first_bucket(v), end = end_bucket(x, v);
    for (u32 b = first; b <= end && b < DISTANCES_BUCKETS; b++)
        sum += error_at(x, v, b);
    return sum / (end - first + 1);
}

/* -- Tables ------------------------------------------------------------------------------------- */

static struct table *new_table(struct result *r, const char *name, const char *title, bool owners)
{
    struct table *t = result_table(r, TABLE_series, name, title);
    if (owners) {
        table_add_column(t, CELL_count, "process", NULL);
        table_add_column(t, CELL_count, "thread", NULL);
    }
    return t;
}

static union cell *new_row(struct table *t, const struct distances_owner *owner)
{
    union cell *c = table_cells(t);
    if (!owner)
        return c;
    (c++)->count = owner->process;
    (c++)->count = owner->thread;
    return c;
}

struct table *distances_curve_table(struct result *r, const char *name, const char *title,
                                    const struct distances_view *v, bool owners)
{
    struct table *t = new_table(r, name, title, owners);
    table_add_column(t, CELL_count, "size", "bytes of the cache");
    table_add_column(t, CELL_count, "lines", "lines of the cache");
    table_add_column(t, CELL_count, "misses", NULL);
    table_add_column(t, CELL_percent, "miss_ratio", "misses of all accesses");
    if (v->sample)
        table_add_column(t, CELL_percent, "error", "standard error of that");
    return t;
}

void distances_curve(const struct distances *x, const struct distances_view *v,
                     const struct distances_owner *owner, struct table *t)
{
    u32 first = MAX(first_bucket(v), 1u), end = end_bucket(x, v);
    for (u32 b = first; b < MAX(end, first) + 1; b++) {
        union cell *c = new_row(t, owner);
        (c++)->count = bucket_begin(b) * v->line;
        (c++)->count = bucket_begin(b);
        (c++)->count = misses(x, b);
        (c++)->number = percent((double)misses(x, b), x->accesses);
        if (v->sample)
            c->number = error_at(x, v, b);
    }
}

struct table *distances_histogram_table(struct result *r, const char *name, const char *title,
                                        bool owners)
{
    struct table *t = new_table(r, name, title, owners);
    table_add_column(t, CELL_count, "from", "least distance");
    table_add_column(t, CELL_count, "to", "greatest distance");
    table_add_column(t, CELL_count, "accesses", NULL);
    table_add_column(t, CELL_percent, "share", "of all accesses");
    table_add_column(t, CELL_percent, "up_to", "share of all up to here");
    return t;
}

/* A row from one bucket up to another. */
static void histogram_row(const struct distances *x, u32 from, u32 to,
                          const struct distances_owner *owner, struct table *t)
{
    union cell *c = new_row(t, owner);
    u64 before = from ? x->accesses - misses(x, from) : 0, up_to = x->accesses - misses(x, to);
    (c++)->count = bucket_begin(from);
    (c++)->count = bucket_begin(to) - 1;
    (c++)->count = up_to - before;
    (c++)->number = percent((double)(up_to - before), x->accesses);
    c->number = percent((double)up_to, x->accesses);
}

/* Octaves are two buckets, but for the first. */
void distances_histogram(const struct distances *x, const struct distances_view *v,
                         const struct distances_owner *owner, struct table *t)
{
    u32 end = end_bucket(x, v), b = MAX(first_bucket(v), 1u);
    histogram_row(x, 0, b, owner, t);
    for (u32 next; b < end; b = next) {
        next = b < 2 ? b + 1 : b + 2;
        histogram_row(x, b, next, owner, t);
    }
}
