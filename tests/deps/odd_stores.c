/* SPDX-License-Identifier: MIT */
/* Stores and loads of 1 to 64 bytes that overlap in every way, across pages too; strings that overlap themselves, forwards and
 * backwards; areas of which only some bytes are written; gathers and scatters; whole states of the processor. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

enum { PAGE = 4096 };
static unsigned char area[4 * PAGE] __attribute__((aligned(4096)));
static unsigned char state[2 * PAGE] __attribute__((aligned(4096)));
static unsigned char untouched[PAGE];
static volatile uint64_t sink;

static uint32_t random_number(void)
{
    static uint32_t x = 2463534242;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

static void store(unsigned char *p, uint32_t what)
{
    switch (what % 9) {
    case 0:
        *(volatile uint8_t *)p = (uint8_t)what;
        break;
    case 1:
        *(volatile uint16_t *)(void *)p = (uint16_t)what;
        break;
    case 2:
        *(volatile uint32_t *)(void *)p = what;
        break;
    case 3:
        *(volatile uint64_t *)(void *)p = what;
        break;
    case 4:
        _mm_storeu_si128((__m128i *)(void *)p, _mm_set1_epi32((int)what));
        break;
    case 5:
        __asm__ volatile("fstpt (%0)" : : "r"(p) : "memory"); /* 10 bytes */
        __asm__ volatile("fldz");
        break;
    case 6:
        __asm__ volatile("lock xaddl %0, (%1)" : "+r"(what) : "r"(p) : "memory");
        break;
    case 7:
        __asm__ volatile("addw $3, (%0)" : : "r"(p) : "memory", "cc");
        break;
    default:
        __asm__ volatile("fninit; fnsave (%0)" : : "r"(p) : "memory"); /* 108 bytes, the same in all runs */
        __asm__ volatile("fldz");
    }
}

static void load(const unsigned char *p, uint32_t what)
{
    switch (what % 6) {
    case 0:
        sink = *(const volatile uint8_t *)p;
        break;
    case 1:
        sink = *(const volatile uint16_t *)(const void *)p;
        break;
    case 2:
        sink = *(const volatile uint32_t *)(const void *)p;
        break;
    case 3:
        sink = *(const volatile uint64_t *)(const void *)p;
        break;
    case 4:
        __asm__ volatile("movups (%0), %%xmm1" : : "r"(p) : "memory", "xmm1");
        break;
    default:
        __asm__ volatile("frstor (%0)" : : "r"(p) : "memory");
        __asm__ volatile("fninit; fldz");
    }
}

/* -- Strings ------------------------------------------------------------------------------------ */

static void strings(unsigned char *to, const unsigned char *from, size_t n, uint32_t what)
{
    switch (what % 8) {
    case 0:
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
        break;
    case 1:
        n /= 8;
        __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
        break;
    case 2:
        to += n, from += n;
        __asm__ volatile("std; rep movsb; cld" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
        break;
    case 3:
        to += n, from += n, n /= 4;
        __asm__ volatile("std; rep movsl; cld" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
        break;
    case 4:
        n /= 2;
        __asm__ volatile("rep stosw" : "+D"(to), "+c"(n) : "a"(what) : "memory");
        break;
    case 5:
        __asm__ volatile("repe cmpsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
        break;
    case 6:
        __asm__ volatile("rep lodsb" : "+S"(from), "+c"(n) : : "memory", "rax");
        break;
    default:
        to += n;
        __asm__ volatile("std; repne scasb; cld" : "+D"(to), "+c"(n) : "a"(what) : "memory");
    }
}

static void overlapping_strings(void)
{
    for (uint32_t i = 0; i < 400; i++) {
        uint32_t r = random_number(), at = 64 + r % (2 * PAGE), by = random_number() % 20;
        uint32_t n = random_number() % (i % 16 ? 60 : 3000);
        strings(area + at + (r & 0x10000 ? by : 0), area + at + (r & 0x10000 ? 0 : by), n, random_number());
        store(area + at + n / 2, random_number());
    }
}

/* A string of so many references that its record is given out in several batches. */
static void long_strings(void)
{
    for (int i = 0; i < 3; i++) {
        memset(area, i, 100);
        strings(area + 24, area, sizeof area - 64, 0);
        strings(area, area + 5, sizeof area - 64, 2);
        strings(area + 1, NULL, sizeof area - 64, 4);
    }
}

/* -- Vectors ------------------------------------------------------------------------------------ */

__attribute__((target("avx2"))) static void vectors(void)
{
    for (uint32_t i = 0; i < 300; i++) {
        unsigned char *p = area + random_number() % (3 * PAGE);
        int32_t at[8], mask[8];
        for (int k = 0; k < 8; k++) {
            at[k] = (int32_t)(random_number() % 2000);
            mask[k] = (int32_t)random_number();
        }
        __m256i m = _mm256_loadu_si256((const void *)mask), v;
        _mm256_storeu_si256((void *)p, m);
        store(p + random_number() % 40, random_number());
        v = _mm256_mask_i32gather_epi32(m, (const void *)p, _mm256_loadu_si256((const void *)at), m, 1);
        _mm256_maskstore_epi32((void *)(p + 16), m, v);
        v = _mm256_maskload_epi32((const void *)(p + 21), m);
        sink = (uint64_t)_mm256_extract_epi64(v, 1);
    }
}

__attribute__((target("avx512f,avx512bw"))) static void wide_vectors(void)
{
    for (uint32_t i = 0; i < 200; i++) {
        unsigned char *p = area + random_number() % (3 * PAGE);
        __m512i v = _mm512_set1_epi32((int)i), at = _mm512_and_si512(_mm512_mullo_epi32(v, _mm512_set_epi32(
            1, 5, 9, 33, 7, 71, 2, 8, 4, 6, 99, 3, 17, 19, 23, 29)), _mm512_set1_epi32(1023));
        _mm512_storeu_si512(p, v);
        _mm512_mask_storeu_epi8(p + 31, random_number(), v);
        _mm512_mask_i32scatter_epi32(p, (__mmask16)random_number(), at, v, 1);
        _mm512_mask_compressstoreu_epi32(p + 3, (__mmask16)random_number(), v);
        v = _mm512_loadu_si512(p + random_number() % 70);
        sink = (uint64_t)_mm512_reduce_add_epi64(v);
    }
}

/* -- All ---------------------------------------------------------------------------------------- */

__attribute__((target("xsave"))) static void states(void)
{
    if (!__builtin_cpu_supports("avx")) /* then there may be no xsave */
        return;
    for (uint32_t i = 0; i < 20; i++) {
        unsigned char *p = state + PAGE - 64 * (i % 9);
        _xsave(p, 7);
        store(p + 30 + i, random_number());
        store(p + 300 + i, random_number() % 4);
        _xrstor(p, 7);
    }
}

int main(void)
{
    __asm__ volatile("fninit; fldz");
    for (uint32_t i = 0; i < 4000; i++) {
        unsigned char *p = area + random_number() % 300;
        store(i % 5 ? p : p + PAGE - 150, random_number());
        load(area + random_number() % 300, random_number());
        load(area + PAGE - 150 + random_number() % 300, random_number());
    }
    overlapping_strings();
    long_strings();
    if (__builtin_cpu_supports("avx2"))
        vectors();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
        wide_vectors();
    states();
    for (uint32_t i = 0; i < sizeof untouched; i += 7)
        load(untouched + i, i % 5);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < sizeof area; i++)
        sum = sum * 31 + area[i];
    sink = sum;
    return 0;
}
