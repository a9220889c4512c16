/* SPDX-License-Identifier: MIT */
/* Numbers in as few bytes as they need: seven bits in each, the low ones first, bit 7 set in all but the last. */
#ifndef NUMBER_H
#define NUMBER_H

#include "base/base.h"

enum { NUMBER_BYTES = 10 /* at most */ };

/* Put a number; returns the place behind it. */
static inline u8 *number_put(u8 *p, u64 x)
{
    for (; x >= 0x80; x >>= 7)
        *p++ = (u8)(x | 0x80);
    *p++ = (u8)x;
    return p;
}

/* The same for a number of at most so many bits, where eight bytes may be written whatever it takes: no loop. */
enum { NUMBER_QUICK_BITS = 56 };
static inline u8 *number_put_quick(u8 *p, u64 x)
{
    u32 more = (63u - (u32)__builtin_clzll(x | 1)) * 37 >>
               8; /* bytes but one: a seventh, for up to 56 bits */
    x = (x & 0x000000000fffffff) | (x & 0x00fffffff0000000) << 4;
    x = (x & 0x00003fff00003fff) | (x & 0x0fffc0000fffc000) << 2;
    x = (x & 0x007f007f007f007f) | (x & 0x3f803f803f803f80) << 1;
    x |= 0x8080808080808080 & ((1ull << 8 * more) - 1);
    __builtin_memcpy(p, &x, sizeof x);
    return p + more + 1;
}

/* Read a number and leave *at behind it; false if there is none. */
static inline bool number_get(const u8 **at, const u8 *end, u64 *x)
{
    *x = 0;
    for (u32 shift = 0; *at < end && shift < 64; shift += 7) {
        u8 byte = *(*at)++;
        *x |= (u64)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* 0, -1, 1, -2, 2, ... to 0, 1, 2, 3, 4, ...: small numbers of either sign become small numbers. */
static inline u64 zigzag(u64 x)
{
    return x << 1 ^ (u64)((s64)x >> 63);
}

static inline u64 unzigzag(u64 x)
{
    return x >> 1 ^ (0 - (x & 1));
}

#endif
