/* SPDX-License-Identifier: MIT */
/* Pieces of a pool lie apart, keep what is in them, and are made use of again. */
#include "base/pool.h"
#include "test.h"

#include <string.h>

enum { PIECES = 2000, LINE = 64 };

static struct {
    u8 *at;
    size_t n;
} pieces[PIECES];

static size_t size_of(u32 i)
{
    return i % 7 ? 1 + i * 37 % 1500 : (size_t)i << i % 4;
}

static bool is_filled(const u8 *piece, size_t n, u8 with)
{
    for (size_t i = 0; i < n; i++)
        if (piece[i] != with)
            return false;
    return true;
}

static void pieces_lie_apart(void)
{
    struct pool p = {0};
    for (u32 i = 0; i < PIECES; i++) {
        pieces[i].n = size_of(i);
        pieces[i].at = pool_alloc(&p, pieces[i].n);
        CHECK_CASE((u64)pieces[i].at % (pieces[i].n % LINE ? 16 : LINE) == 0, "piece %u", i);
        memset(pieces[i].at, (u8)i, pieces[i].n);
    }
    for (u32 i = 0; i < PIECES; i += 3) {
        const size_t n = 2 * pieces[i].n + 5;
        pieces[i].at = pool_realloc(&p, pieces[i].at, pieces[i].n, n);
        memset(pieces[i].at + pieces[i].n, (u8)i, n - pieces[i].n);
        pieces[i].n = n;
    }
    for (u32 i = 0; i < PIECES; i++)
        CHECK_CASE(is_filled(pieces[i].at, pieces[i].n, (u8)i), "piece %u", i);
    pool_fini(&p);
}

static void what_is_given_back_is_used_again(void)
{
    struct pool p = {0};
    for (u32 i = 1; i < PIECES; i++) {
        void *piece = pool_alloc(&p, size_of(i));
        pool_free(&p, piece, size_of(i));
        CHECK_CASE(pool_alloc(&p, size_of(i)) == piece, "%zu bytes", size_of(i));
    }
    pool_fini(&p);
}

int main(void)
{
    pieces_lie_apart();
    what_is_given_back_is_used_again();
    return test_end("pool");
}
