/* SPDX-License-Identifier: MIT */
/* Numbers that are put many at a time: the same bytes as one by one, and they are read again. */
#include "base/vec.h"
#include "store/many.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static u64 seed;
static u64 rnd(u64 below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 24) % below;
}

/* What a column may hold: runs of any length, differences of any size, loops. */
static u64 next_number(u32 kind, u64 last, u64 i)
{
    switch (kind) {
    case 0:
        return last + rnd(1ull << 6);
    case 1:
        return rnd(9) ? last + 8 : rnd(1000);
    case 2:
        return rnd(2) ? 0x7ffc00000000 + 8 * rnd(1000) : 0x550000000000 + 8 * rnd(1 << 20);
    case 3:
        return rnd(300) ? last + 16 : last - (1ull << rnd(64));
    case 4:
        return rnd(4) ? rnd(UINT64_MAX) << 24 | rnd(UINT64_MAX) : last;
    case 5:
        return i % 50 ? last + 4 : i / 50 * 4096;
    case 6:
        return last + (1ull << rnd(64));
    default:
        return rnd(3) ? last : last - rnd(5);
    }
}

enum { NUMBERS = 20000, KINDS = 8 };
static u64 numbers[MANY_BEFORE + NUMBERS + MANY_BEHIND], back[NUMBERS];

static void put_all(struct store_bytes *to, bool plain, bool vectors)
{
    struct columns s = {0};
    struct column c = {0};
    u64 some[MANY_BEFORE + 300 + MANY_BEHIND];
    for (u32 i = 0, n; i < NUMBERS; i += n) {
        u32 next = 1 + (u32)rnd(i % 3 ? 20 : 300);
        n = MIN(next, NUMBERS - i);
        memcpy(some + MANY_BEFORE, numbers + i, n * sizeof *some);
        (plain ? column_put_many_plain : column_put_many)(&s, &c, some + MANY_BEFORE, n, vectors);
    }
    column_store_sized(&s, &c, to);
    columns_fini(&s);
}

static void the_same_bytes_are_put(void)
{
    for (u32 i = 0; i < 10 * KINDS && many_has_vectors(); i++) {
        bool plain = i >= 5 * KINDS;
        struct store_bytes one = {0}, many = {0};
        seed = i;
        numbers[0] = i % 2 ? rnd(1 << 20) : 0;
        for (u32 k = 1; k < NUMBERS; k++)
            numbers[k] = next_number(i % KINDS, numbers[k - 1], k);
        put_all(&one, plain, false);
        put_all(&many, plain, true);
        CHECK_CASE(one.n == many.n && !memcmp(one.v, many.v, one.n), "%u: %zu and %zu bytes", i,
                   one.n, many.n);
        vec_fini(&one);
        vec_fini(&many);
    }
}

static void they_are_read_again(void)
{
    for (u32 i = 0; i < 5 * KINDS; i++) {
        struct store_bytes bytes = {0};
        struct column_reader r;
        struct arena a = {0};
        bool good = true;
        seed = i;
        for (u32 k = 1; k < NUMBERS; k++)
            numbers[k] = next_number(i % KINDS, numbers[k - 1], k);
        put_all(&bytes, false, many_has_vectors());
        const u8 *at = bytes.v;
        CHECK(column_reader_sized(&r, &at, bytes.v + bytes.n, false));
        for (u32 k = 0, n; k < NUMBERS; k += n) {
            u32 next = 1 + (u32)rnd(k % 3 ? 20 : 300);
            n = MIN(next, NUMBERS - k);
            good &= column_get_all(&r, &a, back + k, n);
        }
        CHECK_CASE(good && column_is_spent(&r) && !memcmp(back, numbers, sizeof back), "%u", i);
        arena_fini(&a);
        vec_fini(&bytes);
    }
}

int main(void)
{
    the_same_bytes_are_put();
    they_are_read_again();
    return test_end("many");
}
