/* SPDX-License-Identifier: MIT */
/* IS: ranking of random integers by counting, a bucket at a time.
 *
 * As NAS defines it: a key is the mean of four random numbers, so that the middle ones are
 * frequent; each round changes two keys and ranks all afresh. Spreading the keys over the buckets
 * and counting them are the irregular stores. */
#include "kernel.h"

enum { LOG2_BUCKETS = 10, BUCKETS = 1 << LOG2_BUCKETS };

static const struct shape {
    int log2_keys, log2_range, rounds;
} shapes[] = {{20, 16, 14}, {23, 19, 10}, {25, 21, 12}};

struct ranking {
    int keys, range, shift; /* a key's bucket is key >> shift */
    int *key, *spread;      /* as given; bucket by bucket */
    int *count;             /* of each value: keys that are not larger */
    int bucket_start[BUCKETS + 1];
};

static struct ranking make_keys(const struct shape *s)
{
    uint64_t seed = NAS_SEED;
    struct ranking r = {.keys = 1 << s->log2_keys, .range = 1 << s->log2_range};
    r.shift = s->log2_range - LOG2_BUCKETS;
    r.key = kernel_alloc(r.keys, sizeof *r.key);
    r.spread = kernel_alloc(r.keys, sizeof *r.spread);
    r.count = kernel_alloc(r.range, sizeof *r.count);
    for (int i = 0; i < r.keys; i++) {
        double sum = 0;
        for (int draw = 0; draw < 4; draw++)
            sum += nas_next(&seed);
        r.key[i] = (int)(sum * r.range / 4);
    }
    return r;
}

/* Put the keys of a bucket side by side. */
static void spread_keys(struct ranking *r)
{
    int next[BUCKETS + 1] = {0};
    for (int i = 0; i < r->keys; i++)
        next[(r->key[i] >> r->shift) + 1]++;
    for (int b = 0; b < BUCKETS; b++)
        next[b + 1] += next[b];
    memcpy(r->bucket_start, next, sizeof next);
    for (int i = 0; i < r->keys; i++)
        r->spread[next[r->key[i] >> r->shift]++] = r->key[i];
}

/* Count the keys of one bucket by value; a bucket's part of `count` fits into a cache. */
static void rank_bucket(struct ranking *r, int bucket)
{
    int *count = r->count + ((size_t)bucket << r->shift), width = 1 << r->shift;
    int sum = r->bucket_start[bucket];
    memset(count, 0, width * sizeof *count);
    for (int i = r->bucket_start[bucket]; i < r->bucket_start[bucket + 1]; i++)
        r->count[r->spread[i]]++;
    for (int i = 0; i < width; i++)
        count[i] = sum += count[i];
}

static void rank_keys(struct ranking *r)
{
    spread_keys(r);
    for (int b = 0; b < BUCKETS; b++)
        rank_bucket(r, b);
}

/* -- The checks ------------------------------------------------------------------------------ */

/* Compare the rank of one key with a plain count over all. */
static void check_rank(const struct ranking *r, int key)
{
    int not_larger = 0;
    for (int i = 0; i < r->keys; i++)
        not_larger += r->key[i] <= key;
    kernel_expect(r->count[key] == not_larger, "%d keys are up to %d, the ranking says %d",
                  not_larger, key, r->count[key]);
}

/* Put every key at its rank, then ask that the result is in order and has each value as often as the keys. */
static void check_order(struct ranking *r)
{
    int *sorted = kernel_alloc(r->keys, sizeof *sorted);
    int *surplus = kernel_alloc(r->range, sizeof *surplus);
    for (int i = 0; i < r->keys; i++) {
        surplus[r->key[i]]++;
        int rank = --r->count[r->key[i]];
        kernel_expect(rank >= 0 && rank < r->keys, "key %d of value %d has rank %d", i, r->key[i],
                      rank);
        sorted[rank] = r->key[i];
    }
    for (int i = 0; i < r->keys; i++) {
        kernel_expect(i == 0 || sorted[i - 1] <= sorted[i], "key %d is out of order", i);
        surplus[sorted[i]]--;
    }
    for (int i = 0; i < r->range; i++)
        kernel_expect(surplus[i] == 0, "the value %d is there %d times too few", i, surplus[i]);
    free(sorted);
    free(surplus);
}

int main(int argc, char **argv)
{
    const struct shape *s = &shapes[kernel_begin("is", argc, argv)];
    struct ranking r = make_keys(s);
    uint64_t checksum = 0;
    for (int round = 0; round < s->rounds; round++) {
        r.key[round] = round;
        r.key[round + s->rounds] = r.range - 1 - round;
        rank_keys(&r);
        checksum = checksum * 31 + (uint64_t)r.count[r.key[r.keys / 2 + round]];
    }
    check_rank(&r, r.key[0]);
    check_rank(&r, r.key[r.keys / 2]);
    check_order(&r);
    return kernel_verified("keys=%d rounds=%d ranks=%016llx", r.keys, s->rounds,
                           (unsigned long long)checksum);
}
