/* SPDX-License-Identifier: MIT */
/* Instructions of many kinds: scalars and vectors of every width the machine has, strings, calls through pointers, a large switch. */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static float singles[256], more[256];
static double doubles[256];
static int32_t table[256], places[256];
static char area[40000];

static double scalars(int n)
{
    float f = 1.5f;
    double d = 0.25;
    for (int i = 0; i < n; i++) {
        f = f * singles[i] + (float)i;
        d += (double)f / (i + 1);
        doubles[i] = d < 100 ? d : 0;
    }
    return d;
}

static void wide_128(int n)
{
    for (int i = 0; i < n; i += 4) {
        __m128 x = _mm_mul_ps(_mm_loadu_ps(singles + i), _mm_set1_ps(1.25f));
        _mm_storeu_ps(more + i, _mm_add_ps(x, _mm_loadu_ps(more + i)));
    }
}

__attribute__((target("avx2"))) static void wide_256(int n)
{
    __asm__ volatile("vpabsd %%xmm1, %%xmm1; vbroadcastss %%xmm1, %%xmm1; vcvtss2si %%xmm1, %%eax" ::: "xmm1", "eax");
    for (int i = 0; i < n; i += 8) {
        __m256i at = _mm256_loadu_si256((void *)(places + i)), all = _mm256_set1_epi32(i % 16 ? -1 : 0);
        __m256i got = _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), table, at, all, 4);
        _mm256_maskstore_epi32(table + i, _mm256_cmpgt_epi32(got, at), _mm256_add_epi32(got, at));
    }
}

__attribute__((target("avx512f"))) static void wide_512(int n)
{
    for (int i = 0; i < n; i += 16) {
        __m512 x = _mm512_loadu_ps(singles + i);
        __mmask16 k = _mm512_cmp_ps_mask(x, _mm512_set1_ps(3), _CMP_LT_OS);
        _mm512_mask_compressstoreu_ps(more + i, k, _mm512_add_ps(x, x));
        _mm512_mask_storeu_ps(singles + i, k, x);
    }
}

static void wide_64(void)
{
    uint64_t x = 0x0102030405060708, y = 0x1112131415161718;
    __asm__ volatile("movq %0, %%mm0; paddb %1, %%mm0; movq %%mm0, %0; emms" : "+m"(x) : "m"(y) : "mm0");
    __asm__ volatile("fldl %0; fldpi; faddp; fstpl %0" : "+m"(doubles[0]));
}

__attribute__((noinline)) static int step(int x, int what)
{
    switch (what % 9) {
    case 0: return x + 1;
    case 1: return x ^ 0x55;
    case 2: return x * 7;
    case 3: return x << 3;
    case 4: return x - what;
    case 5: return x / (what + 1);
    case 6: return __builtin_popcount((unsigned)x);
    case 7: return x % 1000;
    default: return ~x;
    }
}

static int (*volatile steps[])(int, int) = {step, step};

int main(void)
{
    int x = 1;
    for (int i = 0; i < 256; i++) {
        singles[i] = (float)(i % 7);
        places[i] = (i * 37) & 255;
        table[i] = i * 3 - 200;
    }
    for (int i = 0; i < 200; i++)
        x = steps[i & 1](x, i);
    scalars(200);
    wide_64();
    wide_128(256);
    if (__builtin_cpu_supports("avx2"))
        wide_256(256);
    if (__builtin_cpu_supports("avx512f"))
        wide_512(256);
    for (size_t n = 0; n < 40; n++) {
        void *to = more, *from = singles;
        size_t count = n;
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count)::"memory");
        __asm__ volatile("lock xaddl %0, %1" : "+r"(x), "+m"(table[n])::"memory");
        __asm__ volatile("bts %1, %0" : "+m"(table[0]) : "r"((int)n * 19) : "memory");
    }
    void *to = area; /* one instruction with very many references */
    size_t n = sizeof area;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(x) : "memory");
    printf("%d %d\n", x, (int)strlen((char *)more));
    return 0;
}
