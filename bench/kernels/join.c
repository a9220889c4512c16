/* SPDX-License-Identifier: MIT */
/* JOIN: a hash join; one relation goes into a table of chained buckets, the other looks up each of its keys.
 *
 * Every look-up jumps to a random bucket and follows its chain. Half of the keys looked up are not
 * in the table, the others several times or once. */
#include "kernel.h"

static const struct shape {
    int64_t built, batch; /* tuples in the table, keys looked up at a time */
    int batches, log2_buckets;
} shapes[] = {{200000, 200000, 6, 17}, {1000000, 1000000, 10, 20}, {6000000, 4000000, 11, 23}};

struct tuple {
    uint64_t key, payload;
    struct tuple *next; /* in its bucket */
};

struct table {
    int shift; /* a hash is 64 bits, its bucket the topmost ones */
    struct tuple **bucket;
};

struct answer {
    uint64_t matches, sum; /* pairs with equal keys, and the products of their payloads */
};

static struct tuple **bucket_of(const struct table *t, uint64_t key)
{
    return &t->bucket[key * UINT64_C(0x9e3779b97f4a7c15) >> t->shift];
}

static struct table build(struct tuple *tuples, int64_t n, int log2_buckets)
{
    struct table t = {64 - log2_buckets, kernel_alloc((size_t)1 << log2_buckets, sizeof *t.bucket)};
    for (int64_t i = 0; i < n; i++) {
        struct tuple **bucket = bucket_of(&t, tuples[i].key);
        tuples[i].next = *bucket;
        *bucket = &tuples[i];
    }
    return t;
}

static void probe(const struct table *t, const uint64_t *keys, int64_t n, struct answer *a)
{
    for (int64_t i = 0; i < n; i++)
        for (struct tuple *found = *bucket_of(t, keys[i]); found; found = found->next)
            if (found->key == keys[i]) {
                a->matches++;
                a->sum += found->payload * (uint64_t)(i + 1);
            }
}

/* -- The check: the keys are below `domain`, so they can be indices of an array instead ------- */

static struct answer *build_directly(const struct tuple *tuples, int64_t n, int64_t domain)
{
    struct answer *by_key = kernel_alloc(domain, sizeof *by_key);
    for (int64_t i = 0; i < n; i++) {
        by_key[tuples[i].key].matches++;
        by_key[tuples[i].key].sum += tuples[i].payload;
    }
    return by_key;
}

static void probe_directly(const struct answer *by_key, const uint64_t *keys, int64_t n,
                           struct answer *a)
{
    for (int64_t i = 0; i < n; i++) {
        a->matches += by_key[keys[i]].matches;
        a->sum += by_key[keys[i]].sum * (uint64_t)(i + 1);
    }
}

/* -------------------------------------------------------------------------------------------- */

static struct tuple *make_tuples(int64_t n, int64_t domain, uint64_t *seed)
{
    struct tuple *tuples = kernel_alloc(n, sizeof *tuples);
    for (int64_t i = 0; i < n; i++) {
        tuples[i].key = nas_below(seed, domain);
        tuples[i].payload = nas_below(seed, 1000000);
    }
    return tuples;
}

int main(int argc, char **argv)
{
    const struct shape *s = &shapes[kernel_begin("join", argc, argv)];
    int64_t domain = s->built * 3 / 2; /* about half of these are drawn */
    uint64_t seed = NAS_SEED;
    struct tuple *tuples = make_tuples(s->built, domain, &seed);
    struct table table = build(tuples, s->built, s->log2_buckets);
    struct answer *by_key = build_directly(tuples, s->built, domain);
    struct answer found = {0, 0}, counted = {0, 0};
    uint64_t *keys = kernel_alloc(s->batch, sizeof *keys);
    for (int batch = 0; batch < s->batches; batch++) {
        for (int64_t i = 0; i < s->batch; i++)
            keys[i] = nas_below(&seed, domain);
        probe(&table, keys, s->batch, &found);
        probe_directly(by_key, keys, s->batch, &counted);
    }
    kernel_expect(found.matches == counted.matches && found.sum == counted.sum,
                  "found %llu matches with sum %016llx, counted %llu with %016llx",
                  (unsigned long long)found.matches, (unsigned long long)found.sum,
                  (unsigned long long)counted.matches, (unsigned long long)counted.sum);
    return kernel_verified("built=%lld probed=%lld matches=%llu sum=%016llx", (long long)s->built,
                           (long long)(s->batch * s->batches), (unsigned long long)found.matches,
                           (unsigned long long)found.sum);
}
