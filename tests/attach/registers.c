/* SPDX-License-Identifier: MIT */
/* A loop whose values live in registers only: general ones, flags, and vectors as wide as the processor has. It says if one has changed. */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((target("avx512f"))) static uint64_t wide(uint64_t rounds)
{
    __m512i v = _mm512_set_epi64(1, 2, 3, 4, 5, 6, 7, 8), one = _mm512_set1_epi64(1), w = _mm512_setzero_si512();
    __mmask8 k = 0xa5;
    for (uint64_t i = 0; i < rounds; i++) {
        v = _mm512_rol_epi64(_mm512_add_epi64(v, one), 7);
        w = _mm512_mask_add_epi64(w, k, w, one);
        __asm__ volatile("" : "+v"(v), "+v"(w), "+v"(one), "+Yk"(k));
    }
    return (uint64_t)_mm512_reduce_add_epi64(v) ^ (uint64_t)_mm512_reduce_add_epi64(w);
}

__attribute__((noinline)) static uint64_t narrow(uint64_t rounds)
{
    uint64_t a = 1, b = 2, c = 3, carry = 0;
    double x = 0.25;
    for (uint64_t i = 0; i < rounds; i++) {
        __asm__ volatile("add %2, %0\n\tadc %3, %1\n\tadc $0, %2\n\tstc\n\tadc $0, %3" : "+r"(a), "+r"(b), "+r"(c), "+r"(carry)::"cc");
        x = x * 3.875 * (1 - x);
    }
    return a ^ b ^ c ^ carry ^ (uint64_t)(x * 1e15);
}

int main(void)
{
    int has = __builtin_cpu_supports("avx512f");
    uint64_t first = narrow(20000), vector = has ? wide(20000) : 0, n = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    puts("ready");
    for (;;) {
        uint64_t now = narrow(20000), wider = has ? wide(20000) : 0;
        if (now != first || wider != vector) {
            printf("changed in round %lu\n", (unsigned long)n);
            return 1;
        }
        if (++n % 500 == 0)
            puts("round");
    }
}
