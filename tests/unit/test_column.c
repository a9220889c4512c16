/* SPDX-License-Identifier: MIT */
/* A column gives back the numbers that were put in; nests are small; what is not a column is refused. */
#include "store/column.h"
#include "base/vec.h"
#include "test.h"

#include <string.h>

static VEC(u64) numbers;
static struct store_bytes stored;

static u64 seed;
static u64 rnd(u64 below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 24) % below;
}

static void store_numbers(bool plain)
{
    struct columns s = {0};
    struct column c = {0};
    for (size_t i = 0; i < numbers.n; i++)
        (plain ? column_put_plain : column_put)(&s, &c, numbers.v[i]);
    stored.n = 0;
    size_t size = column_finish(&s, &c);
    column_store(&c, &stored);
    CHECK(stored.n == size);
    columns_fini(&s);
}

/* Are these bytes the numbers, and no more? */
static bool reads_back(bool plain)
{
    struct column_reader r;
    struct arena a = {0};
    u64 x = 0;
    column_reader_init(&r, stored.v, stored.n, plain);
    size_t i = 0;
    while (i < numbers.n && column_get(&r, &a, &x) && x == numbers.v[i])
        i++;
    bool good = i == numbers.n && column_is_spent(&r) && !column_get(&r, &a, &x);
    arena_fini(&a);
    return good;
}

/* Pieces of any length, many longer than what is looked at together. */
static u32 piece_length(size_t left)
{
    u64 n = rnd(2) ? rnd(5) : rnd(200);
    return (u32)MIN(left, n);
}

/* Got many at a time, they are the same numbers. */
static bool is_same_in_pieces(void)
{
    struct column_reader r;
    struct arena a = {0};
    u64 x[200];
    bool good = true;
    u32 n;
    column_reader_init(&r, stored.v, stored.n, false);
    for (size_t i = 0; i < numbers.n && good; i += n) {
        n = piece_length(numbers.n - i);
        good = column_get_all(&r, &a, x, n) && !memcmp(x, numbers.v + i, n * sizeof *x);
    }
    good = good && column_is_spent(&r) && !column_get_all(&r, &a, x, 1);
    arena_fini(&a);
    return good;
}

static bool survives(bool plain)
{
    store_numbers(plain);
    return reads_back(plain) && (plain || !numbers.n || is_same_in_pieces());
}

/* More entries than a column keeps as such, with loops before, between and after. */
static void long_irregular_columns_survive(void)
{
    for (u32 round = 0; round < 3; round++) {
        numbers.n = 0;
        for (u32 part = 0; part < 3; part++) {
            for (u32 i = 0; i < 100000; i++)
                vec_push(&numbers, rnd(1ull << (round * 30 + 3)));
            for (u32 i = 0; i < 5000 * round; i++)
                vec_push(&numbers, 64 * (i % 7) + i / 7);
        }
        CHECK(survives(false));
        CHECK(survives(true));
    }
}

/* -- What programs do -------------------------------------------------------------------------- */

static void put_nest(u64 n, u64 row, u64 column)
{
    for (u64 i = 0; i < n; i++)
        for (u64 j = 0; j < n; j++)
            for (u64 k = 0; k < n; k++)
                vec_push(&numbers, 0x7f0000000000 + i * row + j * column + k * 8);
}

static void nests_take_a_few_bytes_however_long(void)
{
    size_t size[3];
    for (u32 i = 0; i < 3; i++) {
        numbers.n = 0;
        put_nest(25u << i, 4096, 0);
        CHECK(survives(false));
        size[i] = stored.n;
    }
    CHECK(size[0] < 60);
    CHECK(size[2] <= size[0] + 6);
}

static void put_tiles(u64 n, u64 t)
{
    for (u64 ii = 0; ii < n; ii += t)
        for (u64 jj = 0; jj < n; jj += t)
            for (u64 kk = 0; kk < n; kk += t)
                for (u64 i = ii; i < ii + t; i++)
                    for (u64 j = jj; j < jj + t; j++)
                        for (u64 k = kk; k < kk + t; k++)
                            vec_push(&numbers, 8 * (n * k + j));
}

static void tiles_are_nests_too(void)
{
    numbers.n = 0;
    put_tiles(40, 8);
    CHECK(survives(false));
    size_t small = stored.n;
    numbers.n = 0;
    put_tiles(96, 8);
    CHECK(survives(false));
    CHECK_CASE(small < 300 && stored.n < small + 40, "%zu and %zu bytes", small, stored.n);
}

/* The same irregular numbers again and again: one copy and a loop around it. */
static void a_long_pattern_is_stored_once(void)
{
    numbers.n = 0;
    for (u32 round = 0; round < 20; round++) {
        seed = 7;
        for (u32 i = 0; i < 3000; i++)
            vec_push(&numbers, rnd(1u << 20));
    }
    CHECK(survives(true));
    CHECK_CASE(stored.n < 3 * 3000 * 4, "%zu bytes", stored.n);
}

static void extreme_numbers_survive(void)
{
    static const u64 odd[] = {0, 1,          UINT64_MAX, 1ull << 63, 0x7fffffffffffffff,
                              0, UINT64_MAX, 2,          2,          2};
    for (u32 plain = 0; plain < 2; plain++) {
        numbers.n = 0;
        CHECK(survives(plain));
        CHECK(stored.n == 0);
        for (u32 i = 0; i < 1000; i++)
            vec_push(&numbers, odd[i * i % 7 % ARRAY_LEN(odd)]);
        CHECK(survives(plain));
        numbers.n = 1;
        CHECK(survives(plain));
    }
}

/* -- Anything at all --------------------------------------------------------------------------- */

static void put_random(u32 depth);

static void put_random_loop(u32 depth)
{
    size_t from = numbers.n;
    put_random(depth - 1);
    u64 length = numbers.n - from, rounds = rnd(5);
    for (u64 i = 0; i < rounds * length && numbers.n < 200000; i++) {
        u64 x = numbers.v[from + i % length] + (depth & 1 ? 0 : 64 * (i / length));
        vec_push(&numbers, x);
    }
}

static void put_random(u32 depth)
{
    u64 parts = 1 + rnd(4);
    for (u64 k = 0; k < parts; k++) {
        u64 start = rnd(1000), step = rnd(3) * 8, n = rnd(rnd(2) ? 3 : 40);
        if (depth && rnd(2))
            put_random_loop(depth);
        for (u64 i = 0; i < n; i++)
            vec_push(&numbers, rnd(8) ? start + step * i : rnd(1000));
    }
}

static void random_columns_survive(void)
{
    bool good = true;
    for (u32 i = 0; i < 1500 && good; i++) {
        seed = i;
        numbers.n = 0;
        put_random((u32)rnd(7));
        good = survives(i & 1);
        if (!good)
            printf("the column of seed %u differs\n", i);
    }
    CHECK(good);
}

/* -- What is not a column ---------------------------------------------------------------------- */

/* Every byte string is refused or read to some end: under the sanitizers, nothing else may happen. */
static void damage_is_read_safely(void)
{
    u64 x, refused = 0;
    numbers.n = 0;
    seed = 11;
    put_random(5);
    store_numbers(false);
    for (u32 i = 0; i < 4000; i++) {
        struct column_reader r;
        struct arena a = {0};
        size_t at = rnd(stored.n);
        u8 was = stored.v[at];
        stored.v[at] = (u8)rnd(256);
        column_reader_init(&r, stored.v, stored.n - rnd(3), false);
        u64 n = 0;
        while (n < 100000 && column_get(&r, &a, &x))
            n++;
        refused += !column_is_spent(&r);
        u64 many[64], m = 0;
        column_reader_init(&r, stored.v, stored.n, false);
        while (m < 100000 && column_get_all(&r, &a, many, 64))
            m += 64;
        arena_fini(&a);
        stored.v[at] = was;
    }
    CHECK(refused > 0);
}

static void loops_that_cannot_be_are_refused(void)
{
    static const u8 bodiless[] = {2, 0}, short_body[] = {6, 0, 4}, bad_tag[] = {3},
                    endless[] = {0x80, 0x80}, deep[] = {2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0,
                                                        2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 4},
                    overlap[] = {6, 0, 2 | 4 << 2, 0, 4, 4, 4, 4};
    const struct {
        const u8 *v;
        size_t n;
    } bad[] = {{bodiless, 2}, {short_body, 3},     {bad_tag, 1},
               {endless, 2},  {deep, sizeof deep}, {overlap, sizeof overlap}};
    for (u32 i = 0; i < ARRAY_LEN(bad); i++) {
        struct column_reader r;
        struct arena a = {0};
        u64 x, n = 0;
        column_reader_init(&r, bad[i].v, bad[i].n, false);
        while (n < 1000 && column_get(&r, &a, &x))
            n++;
        CHECK(n < 1000 && !column_is_spent(&r));
        arena_fini(&a);
    }
}

int main(void)
{
    nests_take_a_few_bytes_however_long();
    tiles_are_nests_too();
    a_long_pattern_is_stored_once();
    extreme_numbers_survive();
    long_irregular_columns_survive();
    random_columns_survive();
    damage_is_read_safely();
    loops_that_cannot_be_are_refused();
    vec_fini(&numbers);
    vec_fini(&stored);
    return test_end("column");
}
