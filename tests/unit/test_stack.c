/* SPDX-License-Identifier: MIT */
/* Spans and a stack find the distances that a plain list finds, whatever the batches, with and without vectors. */
#include "analyze/stack.h"
#include "test.h"

#include <string.h>

enum { LINES = 40000 /* of the plain list, at most */, STATIC_REFS = 6, FAR_LINES = 16 };

static const u32 sizes[STATIC_REFS] = {1, 8, 16, 64, 100, 512};

static u64 seed;
static u64 rnd(u64 below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 24) % below;
}

/* -- The plain list ------------------------------------------------------------------------------ */

struct plain {
    u64 line[LINES]; /* the one touched last is the last */
    u32 n;
    u64 count[DISTANCES_BUCKETS], cold, accesses, sum;
    u64 far[STATIC_REFS];
};

static void plain_touch(struct plain *p, u64 line, u32 id)
{
    u32 at = p->n;
    while (at && p->line[at - 1] != line)
        at--;
    p->accesses++;
    if (at) {
        u64 d = p->n - at;
        p->count[distance_bucket(d)]++;
        p->sum += d;
        p->far[id] += d >= FAR_LINES;
        memmove(&p->line[at - 1], &p->line[at], (p->n - at) * sizeof p->line[0]);
        p->n--;
    } else {
        p->cold++;
        p->far[id]++;
    }
    p->line[p->n++] = line;
}

/* -- Batches ------------------------------------------------------------------------------------- */

/* Addresses of many kinds: near the last one, in a stream, among few, among many; in some batches, mostly among few. */
static u64 next_address(u64 *stream, u64 last, bool few)
{
    switch (few && rnd(30) ? 3 : rnd(8)) {
    case 0:
        return last + rnd(200);
    case 1:
    case 2:
        return *stream += 24;
    case 3:
        return 0x7ffffff00000 + 64 * rnd(12);
    case 4:
        return 0x10000000 + 64 * rnd(300);
    case 5:
        return 0x20000000 + rnd(20000 * 16);
    case 6:
        return 0x30000000 + 4096 * rnd(200);
    default:
        return last;
    }
}

static void make_batch(struct batch *b, u32 n, u64 *stream, struct plain *p)
{
    static u64 last;
    bool few = rnd(2);
    b->n_refs = n;
    for (u32 j = 0; j < n; j++) {
        u32 id = (u32)rnd(rnd(20) ? 4 : STATIC_REFS);
        last = b->addr[j] = next_address(stream, last, few);
        b->ref[j] = id;
        for (u64 line = last / 64; line <= (last + sizes[id] - 1) / 64; line++)
            plain_touch(p, line, id);
    }
}

/* -- Cases --------------------------------------------------------------------------------------- */

struct mode {
    const char *name;
    bool plain, lists;
};

static void add_far(u64 far[STATIC_REFS], const struct fars *f)
{
    for (u32 i = 0; i < STATIC_REFS && i < f->refs.n; i++)
        far[i] += f->refs.v[i].beyond[0];
}

static void compare(const struct stack *k, const struct fars *fars, const struct spanner *s,
                    const struct plain *p, const char *name)
{
    const struct distances *d = &k->distances;
    u64 far[STATIC_REFS] = {0};
    add_far(far, fars);
    add_far(far, &spanner_sites(s)->fars);
    CHECK_CASE(d->accesses == p->accesses && distances_cold(d) == p->cold, "%s", name);
    CHECK_CASE(d->sum == p->sum, "%s: sum %lu, plainly %lu", name, (unsigned long)d->sum, (unsigned long)p->sum);
    for (u32 b = 1; b < DISTANCES_BUCKETS; b++)
        CHECK_CASE(d->count[0][b] == p->count[b], "%s: bucket %u has %lu, plainly %lu", name, b,
                   (unsigned long)d->count[0][b], (unsigned long)p->count[b]);
    for (u32 i = 0; i < STATIC_REFS; i++)
        CHECK_CASE(far[i] == p->far[i], "%s: reference %u has %lu, plainly %lu", name, i, (unsigned long)far[i],
                   (unsigned long)p->far[i]);
}

static void distances_are_those_of_a_list(const struct mode *mode, const struct unit_table *t, u32 batches)
{
    static struct batch b;
    struct span_options o = {.of = ACCESSED_data,
                             .log2 = 6,
                             .plain = mode->plain,
                             .lists = mode->lists,
                             .far = {1, {FAR_LINES, UINT64_MAX, UINT64_MAX, UINT64_MAX}}};
    struct plain *p = calloc(1, sizeof *p);
    struct spanner *s = spanner_new(&o, t);
    struct fars fars = {.limits = &o.far};
    struct spans work = {0};
    struct stack k;
    u64 stream = 0x40000000;
    stack_init(&k, 0, mode->lists ? 1 << 20 : 0, &fars);
    k.fast &= !mode->plain;
    for (u32 i = 0; i < batches; i++) {
        spans_reset(&work, 0);
        for (u32 n = 1 + (u32)rnd(3); n; n--) {
            make_batch(&b, (u32)rnd(rnd(4) ? 600 : BATCH_REFS), &stream, p);
            spanner_add(s, &(struct events){.table = t, .batch = &b}, 0, &work);
        }
        stack_take(&k, &work);
    }
    compare(&k, &fars, s, p, mode->name);
    stack_fini(&k);
    spans_fini(&work);
    fars_fini(&fars);
    spanner_free(s);
    free(p);
}

/* Marks of all capacities, pushed and removed in all orders. */
static void marks_count_what_is_later(u32 capacity)
{
    struct marks m;
    u8 *there = calloc(capacity, 1);
    marks_init(&m, capacity);
    for (u32 i = 0, now = 0; i < 4 * capacity; i++) {
        u32 t = (u32)rnd(capacity), later = 0;
        if (now < capacity && rnd(2)) {
            u32 n = 1 + (u32)rnd(100);
            n = MIN(n, capacity - now);
            memset(there + now, 1, n);
            now += n;
            marks_push_many(&m, n);
        } else if (t < now && there[t]) {
            there[t] = 0;
            for (u32 j = t + 1; j < now; j++)
                later += there[j];
            CHECK_CASE(marks_remove(&m, t) == later, "capacity %u, time %u", capacity, t);
        }
    }
    marks_fini(&m);
    free(there);
}

int main(void)
{
    static const struct mode modes[] = {{"fast", false, false}, {"plain", true, false}, {"list", false, true}, {"plain list", true, true}};
    struct unit_table t = {0};
    for (u32 i = 0; i < STATIC_REFS; i++)
        vec_push(&t.refs, ((struct ref){.size = sizes[i]}));
    for (u32 capacity = 1; capacity < 6000; capacity = 2 * capacity + 3)
        marks_count_what_is_later(capacity);
    for (u32 i = 0; i < ARRAY_LEN(modes); i++)
        distances_are_those_of_a_list(&modes[i], &t, 25);
    vec_fini(&t.refs);
    return test_end("stack");
}
