/* SPDX-License-Identifier: MIT */
/* The detector finds the descriptors of the paper's figures, few of them for loop nests, and whatever it finds expands to the stream. */
#include "analyze/detector.h"
#include "base/vec.h"
#include "test.h"

#include <string.h>

static struct {
    VEC(u64) address;
    VEC(u32) type;
} stream;

static struct {
    VEC(u8) filled;
    const struct descriptor *d;
    u64 wrong, refs, n, deepest;
    bool apart; /* it need not expand to the stream */
    char text[4096];
} found;

static u64 seed;
static struct pool pool; /* of a detector's memory */

/* xorshift */
static u64 rnd(u64 n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % n;
}

static void put(u64 address, u32 type)
{
    vec_push(&stream.address, address);
    vec_push(&stream.type, type);
}

static void clear(void)
{
    stream.address.n = stream.type.n = 0;
}

/* -- What was found ---------------------------------------------------------------------------- */

static void check_ref(void *to, u64 place, u64 address)
{
    (void)to;
    if (place >= stream.address.n || found.filled.v[place]++ ||
        stream.address.v[place] != address || stream.type.v[place] != found.d->type)
        found.wrong++;
}

static void note(void *to, const struct descriptor *d)
{
    (void)to;
    found.d = d;
    found.n++;
    found.refs += descriptor_refs(d);
    found.deepest = MAX(found.deepest, d->depth);
    if (!found.apart)
        descriptor_expand(d, check_ref, NULL);
    size_t at = strlen(found.text);
    if (at + 1000 < sizeof found.text) {
        FILE *f = fmemopen(found.text + at, sizeof found.text - at, "w");
        descriptor_print(f, d, d->type ? "Write" : "Read");
        putc('\n', f);
        fclose(f);
    }
}

static void note_ones(void *to, u64 place, const u64 *address, size_t n, size_t every)
{
    for (size_t i = 0; i < n; i++)
        note(to, &(struct descriptor){.start = address[i * every], .place = place + i});
}

static const struct detector_rules plain = {
    .window = 8, .depth = 11, .done = note, .done_ones = note_ones};

static void find_begin(struct detector *x, const struct detector_rules *rules)
{
    found.filled.n = 0;
    memset(vec_grow(&found.filled, stream.address.n + 1), 0, stream.address.n + 1);
    found.wrong = found.refs = found.n = found.deepest = 0;
    found.text[0] = 0;
    found.apart = rules->unordered;
    detector_init(x, rules, &pool, NULL);
}

/* Does what is found expand to the stream? */
static bool find(const struct detector_rules *rules, bool all_at_once)
{
    struct detector x;
    find_begin(&x, rules);
    if (all_at_once)
        detector_put_all(&x, stream.address.v, stream.address.n, 1);
    for (size_t i = 0; i < stream.address.n && !all_at_once; i++)
        detector_put(&x, stream.address.v[i], stream.type.v[i], 0);
    detector_end(&x);
    pool_fini(&pool);
    return !found.wrong && found.refs == stream.address.n;
}

static bool finds(const char *text)
{
    if (!strcmp(text, found.text))
        return true;
    fprintf(stderr, "found:\n%s", found.text);
    return false;
}

/* -- The paper --------------------------------------------------------------------------------- */

enum { A = 100, B = 200, N = 10 };

/* FOR i, k := 0 TO n-2 DO A[i] := A[i] + B[i+1][k+1]; a reference of one place each, or of all */
static void put_figure3(u32 which)
{
    clear();
    for (u32 i = 0; i + 1 < N; i++)
        for (u32 k = 0; k + 1 < N; k++) {
            if (which & 1)
                put(A + i, 0);
            if (which & 2)
                put(B + (i + 1) * N + k + 1, 0);
            if (which & 4)
                put(A + i, 1);
        }
}

static void figure3_has_its_descriptors(void)
{
    put_figure3(1);
    CHECK(find(&plain, false) && finds("PRSD<0x64, 9, 1, RSD<0x64, 9, 0, Read>>\n"));
    put_figure3(2);
    CHECK(find(&plain, false) && finds("PRSD<0xd3, 9, 10, RSD<0xd3, 9, 1, Read>>\n"));
    put_figure3(4);
    CHECK(find(&plain, false) && finds("PRSD<0x64, 9, 1, RSD<0x64, 9, 0, Write>>\n"));
    put_figure3(7);
    CHECK(find(&plain, false) && finds("PRSD<0x64, 9, 1, RSD<0x64, 9, 0, Read>>\n"
                                       "PRSD<0xd3, 9, 10, RSD<0xd3, 9, 1, Read>>\n"
                                       "PRSD<0x64, 9, 1, RSD<0x64, 9, 0, Write>>\n"));
}

/* After 4, 7 and 8 references, of which the figure does not tell types. */
static void figure5_has_its_stream_table(void)
{
    static const struct detector_rules rules = {
        .window = 8, .depth = 11, .unordered = true, .done = note, .done_ones = note_ones};
    static const u64 references[] = {100, 211, 100, 100, 212, 100, 100, 213};
    struct detector x;
    find_begin(&x, &rules);
    for (u32 i = 0; i < ARRAY_LEN(references); i++) {
        detector_put(&x, references[i], 0, 0);
        const struct detector_level *v = x.levels;
        const struct detector_run *r = (const struct detector_run *)v->runs;
        CHECK_CASE(v->n_runs == (i < 3   ? 0
                                 : i < 7 ? 1
                                         : 2),
                   "%u runs after reference %u", v->n_runs, i);
        if (i >= 3)
            CHECK(r->d.start == 100 && r->d.loop[0].stride == 0 &&
                  r->d.loop[0].count == (i < 5   ? 3
                                         : i < 6 ? 4
                                                 : 5));
        if (i == 7) {
            r = (const struct detector_run *)(v->runs + offsetof(struct detector_run, d) +
                                              descriptor_size(1));
            CHECK(r->d.start == 211 && r->d.loop[0].stride == 1 && r->d.loop[0].count == 3 &&
                  !v->n_pool);
        }
    }
    detector_end(&x);
    pool_fini(&pool);
    CHECK(finds("RSD<0x64, 5, 0, Read>\nRSD<0xd3, 3, 1, Read>\n"));
}

/* -- Loop nests --------------------------------------------------------------------------------- */

/* A nest of loops around one reference: the inner ones first. */
static void put_nest(u64 start, const struct descriptor_loop *loop, u32 depth, u32 type)
{
    if (!depth) {
        put(start, type);
        return;
    }
    for (u64 i = 0; i < loop[depth - 1].count; i++)
        put_nest(start + i * loop[depth - 1].stride, loop, depth - 1, type);
}

static void matrix_products_take_what_the_paper_says(void)
{
    for (u64 n = 10; n <= 100; n += 45) {
        char text[300];
        const struct descriptor_loop a[] = {{n, 8, 0}, {n, 0, 0}, {n, 8 * n, 0}};
        const struct descriptor_loop b[] = {{n, 8 * n, 0}, {n, 8, 0}, {n, 0, 0}};
        clear();
        put_nest(0x1000, a, 3, 0);
        snprintf(text, sizeof text,
                 "PRSD<0x1000, %lu, %lu, PRSD<0x1000, %lu, 0, RSD<0x1000, %lu, 8, Read>>>\n", n,
                 8 * n, n, n);
        CHECK(find(&plain, true) && finds(text));
        clear();
        put_nest(0x1000, b, 3, 0);
        snprintf(text, sizeof text,
                 "PRSD<0x1000, %lu, 0, PRSD<0x1000, %lu, 8, RSD<0x1000, %lu, %lu, Read>>>\n", n, n,
                 n, 8 * n);
        CHECK(find(&plain, true) && finds(text));
    }
}

/* Figure 6: loops kk, jj, i, k, j around A[i][k]. With three PRSDs, as the paper had them, as many descriptors as there are columns
 * of tiles; with more, one. */
static void tiled_products_take_what_the_paper_says(void)
{
    enum { n = 40, tile = 5, tiles = n / tile };
    static const struct detector_rules three = {
        .window = 8, .depth = 3, .done = note, .done_ones = note_ones};
    const struct descriptor_loop a[] = {
        {tile, 0, 0}, {tile, 8, 0}, {n, 8 * n, 0}, {tiles, 0, 0}, {tiles, 8 * tile, 0}};
    char *at, text[4096];
    clear();
    put_nest(0x1000, a, 5, 0);
    CHECK(find(&plain, true) && finds("PRSD<0x1000, 8, 40, PRSD<0x1000, 8, 0, PRSD<0x1000, 40, "
                                      "320, PRSD<0x1000, 5, 8, RSD<0x1000, 5, 0, Read>>>>>\n"));
    CHECK(find(&three, true));
    at = text;
    for (u32 i = 0, s = 0x1000; i < tiles; i++, s += 8 * tile)
        at += sprintf(
            at, "PRSD<0x%x, 8, 0, PRSD<0x%x, 40, 320, PRSD<0x%x, 5, 8, RSD<0x%x, 5, 0, Read>>>>\n",
            s, s, s, s);
    CHECK(finds(text));
}

/* All nests of random shape take few descriptors, whatever the counts. */
static void nests_take_few(void)
{
    for (u32 i = 1; i < 3000; i++) {
        struct descriptor_loop loop[5];
        u32 depth;
        seed = i * 0x9e3779b97f4a7c15;
        depth = 1 + (u32)rnd(5);
        for (u32 k = 0; k < depth; k++)
            loop[k] = (struct descriptor_loop){4 + rnd(6), 8 * (rnd(40) - 20), 0};
        clear();
        put_nest(0x100000, loop, depth, 0);
        CHECK_CASE(find(&plain, true), "seed %u", i);
        CHECK_CASE(found.n <= 2, "seed %u: %lu descriptors:\n%s", i, found.n, found.text);
    }
}

/* -- Anything ----------------------------------------------------------------------------------- */

static void put_mixture(u32 depth)
{
    struct descriptor_loop loop[4];
    u64 n = 1 + rnd(6);
    for (u64 k = 0; k < n && stream.address.n < 4000; k++) {
        u64 start = rnd(1 << rnd(20));
        u32 loops = (u32)rnd(4);
        for (u32 i = 0; i < loops; i++)
            loop[i] = (struct descriptor_loop){1 + rnd(9), rnd(3) ? rnd(64) - 32 : rnd(1 << 30), 0};
        u64 times = 1 + rnd(5);
        for (u64 t = 0; t < times && stream.address.n < 4000; t++) {
            if (depth && rnd(2))
                put_mixture(depth - 1);
            put_nest(start + (rnd(2) ? t * 64 : 0), loop, loops, (u32)rnd(2));
            while (!rnd(3))
                put(rnd(256), (u32)rnd(2));
        }
    }
}

static void mixtures_expand(u32 n)
{
    u64 refs = 0;
    for (u32 i = 1; i <= n; i++) {
        struct detector_rules rules = plain;
        seed = i * 0x9e3779b97f4a7c15;
        rules.window = 3 + (u32)rnd(30);
        rules.depth = (u32)rnd(12);
        clear();
        put_mixture(3);
        refs += stream.address.n;
        CHECK_CASE(find(&rules, false), "seed %u, %zu references", i, stream.address.n);
        memset(stream.type.v, 0, stream.type.n * sizeof *stream.type.v);
        CHECK_CASE(find(&rules, true), "seed %u, %zu references", i, stream.address.n);
    }
    CHECK(refs > 1000000);
}

/* Small numbers, where nearly everything goes with something. */
static void noise_expands(void)
{
    for (u32 i = 1; i < 500; i++) {
        seed = i * 0x9e3779b97f4a7c15;
        u64 range = 2 + rnd(30), n = rnd(2000);
        clear();
        while (n--)
            put(rnd(range), 0);
        CHECK_CASE(find(&plain, false), "seed %u", i);
        char text[sizeof found.text];
        strcpy(text, found.text);
        CHECK_CASE(find(&plain, true) && !strcmp(text, found.text),
                   "seed %u: all at once is not one by one", i);
    }
}

static void add_up(void *digest, const struct descriptor *d)
{
    u64 *x = digest;
    const u64 first[] = {d->start, d->place, d->type, d->depth};
    for (u32 i = 0; i < ARRAY_LEN(first); i++)
        *x = (*x ^ first[i]) * 0x100000001b3;
    for (u32 i = 0; i < d->depth; i++)
        *x = (((*x ^ d->loop[i].count) * 0x100000001b3 ^ d->loop[i].stride) * 0x100000001b3 ^ d->loop[i].step) * 0x100000001b3;
}

static void add_up_ones(void *digest, u64 place, const u64 *address, size_t n, size_t every)
{
    for (size_t i = 0; i < n; i++)
        add_up(digest, &(struct descriptor){.start = address[i * every], .place = place + i});
}

/* All that is found, in its order; without keys, every item in a pool is compared. */
static u64 digest_of(struct detector_rules rules, bool keys, bool all_at_once)
{
    struct detector x;
    u64 digest = 1;
    rules.done = add_up;
    rules.done_ones = add_up_ones;
    detector_init(&x, &rules, &pool, &digest);
    CHECK(x.few);
    x.few = keys;
    if (all_at_once)
        detector_put_all(&x, stream.address.v, stream.address.n, 1);
    for (size_t i = 0; i < stream.address.n && !all_at_once; i++)
        detector_put(&x, stream.address.v[i], stream.type.v[i], 0);
    detector_end(&x);
    pool_fini(&pool);
    return digest;
}

static void keys_change_nothing(void)
{
    for (u32 i = 1; i < 3000; i++) {
        seed = i * 0x9e3779b97f4a7c15;
        struct detector_rules rules = {.window = 3 + (u32)rnd(DETECTOR_FEW - 2), .depth = (u32)rnd(12), .unordered = !rnd(4)};
        const u64 range = 2 + rnd(1 << rnd(8)), types = 1 + rnd(2);
        clear();
        if (rnd(2))
            put_mixture(2);
        for (u64 n = rnd(2000); n; n--)
            put(rnd(4) ? rnd(range) : stream.address.n % 50 * 8, (u32)rnd(types));
        CHECK_CASE(digest_of(rules, true, false) == digest_of(rules, false, false),
                   "seed %u, %zu references", i, stream.address.n);
        memset(stream.type.v, 0, stream.type.n * sizeof *stream.type.v);
        CHECK_CASE(digest_of(rules, true, true) == digest_of(rules, false, false),
                   "seed %u, %zu references, all at once", i, stream.address.n);
    }
}

/* Whenever an item has to wait, it was looked for runs that have ended, up to where nothing has changed. */
static u64 put_and_look(struct detector *x, u64 address)
{
    const u64 place = x->place;
    detector_put(x, address, 0, 0);
    const struct detector_level *v = x->levels;
    const struct descriptor *last = (const struct descriptor *)(v->pool + (v->pool_first + v->n_pool - 1) * descriptor_size(0));
    if (!v->n_pool || last->place != place || x->n_levels == 1)
        return 0;
    CHECK_CASE(!v[1].changed, "reference %lu", place);
    for (u32 k = 0; k < v->n_runs; k++) {
        const struct detector_run *r = (const struct detector_run *)(v->runs + k * (offsetof(struct detector_run, d) + descriptor_size(1)));
        CHECK_CASE(r->next_place > place, "reference %lu: run %u", place, k);
    }
    return 1;
}

static void what_has_passed_has_ended(void)
{
    u64 waited = 0;
    for (u32 i = 1; i < 100; i++) {
        struct detector x;
        seed = i * 0x9e3779b97f4a7c15;
        clear();
        put_mixture(3);
        memset(stream.type.v, 0, stream.type.n * sizeof *stream.type.v);
        find_begin(&x, &plain);
        for (size_t k = 0; k < stream.address.n; k++)
            waited += put_and_look(&x, stream.address.v[k]);
        detector_end(&x);
        pool_fini(&pool);
    }
    CHECK_CASE(waited > 1000, "%lu items waited", waited);
}

static void memory_does_not_grow(void)
{
    struct detector x;
    size_t most = 0;
    seed = 1;
    clear();
    find_begin(&x, &plain);
    found.apart = true; /* the stream is not kept: nothing to compare with */
    for (u32 i = 0; i < 1000000; i++) {
        detector_put(&x, i % 1000 < 500 ? i % 50 * 8 : rnd(64), 0, 0);
        most = MAX(most, detector_memory(&x));
    }
    detector_end(&x);
    pool_fini(&pool);
    CHECK_CASE(most < 40000, "%zu bytes", most);
}

int main(void)
{
    figure3_has_its_descriptors();
    figure5_has_its_stream_table();
    matrix_products_take_what_the_paper_says();
    tiled_products_take_what_the_paper_says();
    nests_take_few();
    mixtures_expand(1000);
    noise_expands();
    keys_change_nothing();
    what_has_passed_has_ended();
    memory_does_not_grow();
    vec_fini(&stream.address);
    vec_fini(&stream.type);
    vec_fini(&found.filled);
    return test_end("detector");
}
