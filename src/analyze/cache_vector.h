/* SPDX-License-Identifier: MIT */
/* Sets with vectors of 8 lines. A set of 5 to 8, ordered by their use, is one, a set of 9 to 16 is two: no branch depends on where in it a line is. */
#ifndef CACHE_VECTOR_H
#define CACHE_VECTOR_H

#include "analyze/cache.h"

#include <immintrin.h>

#define VECTOR __attribute__((target("avx512f,avx512vl,avx512dq,bmi")))

static inline bool cache_has_vectors(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
}

/* The way a line is in; `ways` if it is in none. */
static inline VECTOR u32 cache_vector_way(const u64 *set, u32 ways, u64 line)
{
    for (u32 k = 0; k < ways; k += 8) {
        const __mmask8 there = (__mmask8)(ways - k < 8 ? (1u << (ways - k)) - 1 : 0xff);
        __m512i v = _mm512_maskz_loadu_epi64(there, set + k);
        v = _mm512_and_si512(v, _mm512_set1_epi64((s64)~LINE_STATE));
        u32 found = _mm512_mask_cmpeq_epi64_mask(there, v, _mm512_set1_epi64((s64)line));
        if (found)
            return k + (u32)__builtin_ctz(found);
    }
    return ways;
}

/* Move the line to the front of its set, if it is there; was it? */
static inline VECTOR bool cache_vector_find(u64 *set, u64 line)
{
    static const u64 to_front[CACHE_VECTOR_WAYS][CACHE_VECTOR_WAYS] = {
        {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 2, 3, 4, 5, 6, 7}, {2, 0, 1, 3, 4, 5, 6, 7},
        {3, 0, 1, 2, 4, 5, 6, 7}, {4, 0, 1, 2, 3, 5, 6, 7}, {5, 0, 1, 2, 3, 4, 6, 7},
        {6, 0, 1, 2, 3, 4, 5, 7}, {7, 0, 1, 2, 3, 4, 5, 6},
    };
    __m512i v = _mm512_load_si512(set);
    __m512i lines = _mm512_and_si512(v, _mm512_set1_epi64((s64)~LINE_STATE));
    u32 found = _mm512_cmpeq_epi64_mask(lines, _mm512_set1_epi64((s64)line));
    if (!found)
        return false;
    __m512i order = _mm512_loadu_si512(to_front[__builtin_ctz(found)]);
    _mm512_store_si512(set, _mm512_permutexvar_epi64(order, v));
    return true;
}

/* Put a line in front; which one had to go, or 0. */
static inline VECTOR u64 cache_vector_put(u64 *set, u32 ways, u64 line)
{
    u64 old = set[ways - 1];
    __m512i v = _mm512_load_si512(set);
    _mm512_store_si512(set, _mm512_mask_alignr_epi64(v, (__mmask8)((1u << ways) - 1), v, _mm512_set1_epi64((s64)line), 7));
    return old;
}

/* The same of two vectors. */
static inline VECTOR void cache_two_shift(u64 *set, __m512i low, __m512i high, u32 moved, u64 front)
{
    _mm512_store_si512(set, _mm512_mask_alignr_epi64(low, (__mmask8)moved, low, _mm512_set1_epi64((s64)front), 7));
    _mm512_store_si512(set + CACHE_VECTOR_WAYS, _mm512_mask_alignr_epi64(high, (__mmask8)(moved >> 8), high, low, 7));
}

static inline VECTOR bool cache_two_find(u64 *set, u64 line)
{
    const __m512i rest = _mm512_set1_epi64((s64)~LINE_STATE), all = _mm512_set1_epi64((s64)line);
    const __m512i low = _mm512_load_si512(set), high = _mm512_load_si512(set + CACHE_VECTOR_WAYS);
    const u32 found = _mm512_cmpeq_epi64_mask(_mm512_and_si512(low, rest), all) | (u32)_mm512_cmpeq_epi64_mask(_mm512_and_si512(high, rest), all) << 8;
    if (!found)
        return false;
    if (!(found & 1))
        cache_two_shift(set, low, high, found ^ (found - 1), set[__builtin_ctz(found)]);
    return true;
}

static inline VECTOR u64 cache_two_put(u64 *set, u32 ways, u64 line)
{
    const u64 old = set[ways - 1];
    cache_two_shift(set, _mm512_load_si512(set), _mm512_load_si512(set + CACHE_VECTOR_WAYS), (1u << ways) - 1, line);
    return old;
}

#endif
