/* SPDX-License-Identifier: MIT */
/* Blocks that come and go are found as a plain map of bytes finds them. */
#include "analyze/blocks.h"
#include "test.h"

#include <string.h>

enum { BYTES = 1 << 19, STEPS = 400, ROUNDS = 6, SMALL = 1 << 16 };
#define BASE (0x7f0000000000 - (1 << 17))

/* Of each byte: a block's number; 0: nobody's. Small ones may lie in large ones. */
static u32 small[BYTES], large[BYTES];
static bool maps[STEPS + 1];
static u64 seed;

static u64 rnd(u64 below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 24) % below;
}

/* All bytes of the blocks that have one in the range; of a mapping that was cut, of each piece. */
static void forget(u32 *owner, u64 start, u64 end)
{
    while (start && owner[start] && owner[start - 1] == owner[start])
        start--;
    while (end < BYTES && owner[end] && owner[end - 1] == owner[end])
        end++;
    memset(owner + start, 0, (end - start) * sizeof *owner);
}

static void compare(struct blocks *b, u64 at)
{
    const struct block *x = blocks_find(b, BASE + at);
    const u32 wanted = small[at] ? small[at] : large[at];
    CHECK_CASE((x ? x->id : 0) == wanted, "byte %lu is of %u, not %u", (unsigned long)at, x ? x->id : 0, wanted);
    CHECK(!x || (x->start <= BASE + at && x->end > BASE + at));
}

static void add(struct blocks *b, u32 id, bool is_mapping)
{
    const u64 size = is_mapping ? 4096 * (1 + rnd(20)) : rnd(10) ? 1 + rnd(500) : 1 + rnd(150000);
    const u64 start = is_mapping ? rnd(BYTES - size) & ~4095ull : rnd(BYTES - size);
    const bool is_large = is_mapping || size > SMALL;
    forget(small, start, start + size);
    if (is_large)
        forget(large, start, start + size);
    for (u64 i = start; i < start + size; i++)
        (is_large ? large : small)[i] = id;
    maps[id] = is_mapping;
    blocks_add(b, (struct block){BASE + start, BASE + start + size, id, is_mapping});
}

static void end_one(struct blocks *b)
{
    u64 at = rnd(BYTES);
    u32 *owner = small[at] ? small : large;
    const u32 id = owner[at];
    if (!id || maps[id])
        return;
    while (at && owner[at - 1] == id)
        at--;
    if (owner == large && small[at])
        return; /* two may begin at one place, and then it is not the large one that is meant */
    forget(owner, at, at + 1);
    blocks_remove(b, BASE + at);
}

/* What is outside of the range stays. */
static void unmap(struct blocks *b)
{
    const u64 start = rnd(BYTES) & ~4095ull, size = 4096 * (1 + rnd(10)), end = MIN(start + size, (u64)BYTES);
    for (u64 i = start; i < end; i++)
        if (large[i] && !maps[large[i]])
            return; /* which no program does */
    forget(small, start, end);
    memset(large + start, 0, (end - start) * sizeof *large);
    blocks_unmap(b, BASE + start, BASE + end);
}

static void blocks_are_found_as_in_a_plain_map(void)
{
    struct blocks b = {0};
    memset(small, 0, sizeof small);
    memset(large, 0, sizeof large);
    for (u32 id = 1; id <= STEPS; id++) {
        const u64 what = rnd(10);
        if (what < 6)
            add(&b, id, what == 0);
        else if (what < 9)
            end_one(&b);
        else
            unmap(&b);
        for (u32 k = 0; k < 300; k++)
            compare(&b, rnd(BYTES));
    }
    for (u64 at = 0; at < BYTES; at += 3)
        compare(&b, at);
    blocks_fini(&b);
}

int main(void)
{
    for (u32 round = 0; round < ROUNDS; round++)
        blocks_are_found_as_in_a_plain_map();
    return test_end("blocks");
}
