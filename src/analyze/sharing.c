/* SPDX-License-Identifier: MIT */
/* Lines that were ever lost, in a hash table. */
#include "analyze/sharing.h"
#include "base/err.h"

#include <stdlib.h>

static u64 hash(u64 line, u64 other)
{
    u64 x = (line ^ other * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
    return x ^ x >> 32;
}

/* Where a share is in the table, or would be. */
static u32 *place_of(struct sharing *s, u64 line, u64 other)
{
    u64 at = hash(line, other) & s->mask;
    for (; s->table[at]; at = (at + 1) & s->mask) {
        const struct share *x = &s->shares.v[s->table[at] - 1];
        if (x->line == line && x->other == other)
            break;
    }
    return &s->table[at];
}

static void grow(struct sharing *s)
{
    free(s->table);
    s->mask = MAX(2 * s->mask + 1, 1023ul);
    s->table = calloc(s->mask + 1, sizeof *s->table);
    check(s->table != NULL);
    for (size_t i = 0; i < s->shares.n; i++)
        *place_of(s, s->shares.v[i].line, s->shares.v[i].other) = (u32)i + 1;
}

static struct share *find(struct sharing *s, u64 line, u64 other)
{
    u32 at = s->table ? *place_of(s, line, other) : 0;
    return at ? &s->shares.v[at - 1] : NULL;
}

/* Valid until the next one. */
static struct share *let_there_be(struct sharing *s, u64 line, u64 other)
{
    if (2 * (s->shares.n + 1) > s->mask)
        grow(s);
    u32 *at = place_of(s, line, other);
    if (!*at) {
        vec_push(&s->shares, ((struct share){.line = line, .other = other}));
        *at = (u32)s->shares.n;
    }
    return &s->shares.v[*at - 1];
}

u64 sharing_bytes(u32 line, u64 address, u64 size)
{
    const u32 grain = MAX(line / 64, 1u);
    u64 first = address % line / grain, last = (address % line + size - 1) / grain;
    return ~0ull >> (63 - (last - first)) << first;
}

void sharing_lose(struct sharing *s, u64 line, u32 core, u64 pc)
{
    let_there_be(s, line, SHARE_CORE | core)->bytes = 0;
    let_there_be(s, line, SHARE_CODE | (pc & ((1ull << 48) - 1)))->invalidations++;
    struct share *x = let_there_be(s, line, SHARE_LINE);
    x->invalidations++;
    x->lost |= 1ull << core;
    x->cores |= 1ull << core;
}

void sharing_write(struct sharing *s, u64 line, u32 core, u64 bytes)
{
    struct share *x = find(s, line, SHARE_LINE);
    if (!x)
        return;
    x->cores |= 1ull << core;
    for (u64 lost = x->lost & ~(1ull << core); lost; lost &= lost - 1)
        find(s, line, SHARE_CORE | (u64)__builtin_ctzll(lost))->bytes |= bytes;
}

enum regained sharing_regain(struct sharing *s, u64 line, u32 core, u64 bytes, bool is_prefetch)
{
    struct share *x = find(s, line, SHARE_LINE);
    if (!x || !(x->lost >> core & 1))
        return REGAINED_no;
    x->lost &= ~(1ull << core);
    if (is_prefetch)
        return REGAINED_no;
    bool is_true = find(s, line, SHARE_CORE | core)->bytes & bytes;
    x->regained++;
    x->regained_false += !is_true;
    return is_true ? REGAINED_true : REGAINED_false;
}

void sharing_fini(struct sharing *s)
{
    vec_fini(&s->shares);
    free(s->table);
}
