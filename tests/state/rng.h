/* SPDX-License-Identifier: MIT */
/* Random numbers that are the same everywhere: splitmix64. */
#ifndef RNG_H
#define RNG_H

#include "base/base.h"

struct rng {
    u64 x;
};

static inline u64 rng_next(struct rng *r)
{
    u64 z = r->x += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* A number below n, which is small. */
static inline u32 rng_below(struct rng *r, u32 n)
{
    return (u32)((rng_next(r) >> 32) * n >> 32);
}

/* A number from low to high, both included. */
static inline s32 rng_between(struct rng *r, s32 low, s32 high)
{
    return low + (s32)rng_below(r, (u32)(high - low + 1));
}

static inline bool rng_percent(struct rng *r, u32 percent)
{
    return rng_below(r, 100) < percent;
}

#endif
