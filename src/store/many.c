/* SPDX-License-Identifier: MIT */
/* Numbers to entries, eight at a time. What one number after another would give, it gives, byte for byte. */
#include "store/many.h"

#include <immintrin.h>

enum {
    AT_ONCE = 8,
    /* Room for eight entries of eight bytes each, and behind seven of them for any other: so nobody would have made room meanwhile. */
    ROOM = 8 * AT_ONCE + COLUMN_LONGEST,
    ONE_BITS = 56, /* of an entry of one number in eight bytes, its tag included */
    RUN_BITS = 49, /* of one that has another byte, which says how long it is */
    COUNT_BITS = 7,
};

static void put_one_by_one(struct columns *s, struct column *c, const u64 *numbers, u32 n, bool plain)
{
    for (u32 i = 0; i < n; i++)
        (plain ? column_put_plain : column_put)(s, c, numbers[i]);
}

#define VECTORS __attribute__((target("avx512f,avx512dq,avx512bw,avx512cd,avx512vbmi,avx512vbmi2,bmi2,popcnt")))

bool many_has_vectors(void)
{
    return __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2");
}

/* The runs that end: `steps`, `counts` times each; n of them. Returns where the next entry goes, or NULL if one of them needs more than eight bytes, or
 * is no run at all, as before the first number of a column. */
VECTORS static inline u8 *put_runs(u8 *at, __m512i steps, __m512i counts, u32 n)
{
    const __m512i ones = _mm512_set1_epi64(1), sevens = _mm512_set1_epi64(0x312a231c150e0700);
    __m512i x = _mm512_xor_si512(_mm512_slli_epi64(steps, 1), _mm512_srai_epi64(steps, 63));
    __mmask8 all = (__mmask8)((1u << n) - 1), is_run = _mm512_cmpgt_epi64_mask(counts, ones),
             is_none = _mm512_testn_epi64_mask(counts, counts);
    __m512i more = _mm512_maskz_sub_epi64(is_run, counts, _mm512_set1_epi64(2));
    __m512i over = _mm512_srlv_epi64(
        x, _mm512_mask_set1_epi64(_mm512_set1_epi64(ONE_BITS - COLUMN_TAG_BITS), is_run,
                                  RUN_BITS - COLUMN_TAG_BITS));
    over = _mm512_or_si512(over, _mm512_srli_epi64(more, COUNT_BITS));
    if (all & (is_none | _mm512_test_epi64_mask(over, over)))
        return NULL;
    /* Tag and number in groups of seven bits, one in each byte; a bit in each but the last that is needed. */
    x = _mm512_slli_epi64(x, COLUMN_TAG_BITS);
    x = _mm512_mask_or_epi64(x, is_run, x, ones);
    x = _mm512_and_si512(_mm512_multishift_epi64_epi8(sevens, x), _mm512_set1_epi8(0x7f));
    __m512i top = _mm512_sub_epi64(_mm512_set1_epi64(63),
                                   _mm512_lzcnt_epi64(_mm512_or_si512(x, ones)));
    __m512i before = _mm512_andnot_si512(_mm512_set1_epi64(7), top); /* bits before the last byte */
    __m512i bits = _mm512_sub_epi64(_mm512_sllv_epi64(ones, before), ones);
    x = _mm512_or_si512(x, _mm512_and_si512(bits, _mm512_set1_epi8((char)0x80)));
    __m512i size = _mm512_add_epi64(before, _mm512_set1_epi64(8));
    /* Behind it, how long the run is. */
    x = _mm512_or_si512(x, _mm512_sllv_epi64(more, size));
    size = _mm512_mask_add_epi64(size, is_run, size, _mm512_set1_epi64(8));
    __m512i needed = _mm512_sub_epi64(_mm512_sllv_epi64(ones, size), ones);
    __mmask64 bytes = _bzhi_u64(_mm512_movepi8_mask(needed), 8 * n);
    _mm512_storeu_si512(at, _mm512_maskz_compress_epi8(bytes, x));
    return at + _mm_popcnt_u64(bytes);
}

/* Each difference, or number of a plain column, is compared with the one before it: where they are not the same a run ends, whose step is the
 * latter. */
VECTORS static inline __attribute__((always_inline)) void put_by_eights(struct columns *s, struct column *c, u64 *numbers, u32 n, bool plain)
{
    const __m512i places = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    numbers[-1] = plain ? c->step : c->last;
    numbers[-2] = c->last - c->step;
    for (u32 i = 0; i < n; i += AT_ONCE) {
        u64 *x = numbers + i;
        u32 m = MIN(n - i, (u32)AT_ONCE);
        __m512i step = _mm512_loadu_si512(x), before = _mm512_loadu_si512(x - 1);
        if (!plain) {
            step = _mm512_sub_epi64(step, before);
            before = _mm512_sub_epi64(before, _mm512_loadu_si512(x - 2));
        }
        __mmask8 ends = _mm512_cmpneq_epi64_mask(step, before) & (__mmask8)((1u << m) - 1);
        if (ends) {
            u8 *at = NULL;
            if (c->end - c->at >= ROOM) {
                __m512i where = _mm512_maskz_compress_epi64(ends, places),
                        began = _mm512_alignr_epi64(where, _mm512_set1_epi64(-(s64)c->count), 7);
                at = put_runs(c->at, _mm512_maskz_compress_epi64(ends, before),
                              _mm512_sub_epi64(where, began), (u32)_mm_popcnt_u32(ends));
            }
            if (!at) {
                put_one_by_one(s, c, x, m, plain);
                continue;
            }
            c->at = at;
            c->count = (u32)__builtin_clz(ends) - (31 - m);
        } else {
            c->count += m;
        }
        x += m;
        c->last = plain ? 0 : x[-1];
        c->step = plain ? x[-1] : x[-1] - x[-2];
    }
}

VECTORS static void put_many(struct columns *s, struct column *c, u64 *numbers, u32 n)
{
    put_by_eights(s, c, numbers, n, false);
}

VECTORS static void put_many_plain(struct columns *s, struct column *c, u64 *numbers, u32 n)
{
    put_by_eights(s, c, numbers, n, true);
}

void column_put_many(struct columns *s, struct column *c, u64 *numbers, u32 n, bool vectors)
{
    if (vectors)
        put_many(s, c, numbers, n);
    else
        put_one_by_one(s, c, numbers, n, false);
}

void column_put_many_plain(struct columns *s, struct column *c, u64 *numbers, u32 n, bool vectors)
{
    if (vectors)
        put_many_plain(s, c, numbers, n);
    else
        put_one_by_one(s, c, numbers, n, true);
}
