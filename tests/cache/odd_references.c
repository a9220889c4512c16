/* SPDX-License-Identifier: MIT */
/* References of every size, at every place of a line and across two, reads and writes mixed; a stride that fills one set; strings. */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static unsigned char area[1 << 16] __attribute__((aligned(4096)));

static uint32_t random_number(void)
{
    static uint32_t x = 12345;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

static void one(unsigned char *p, uint32_t what)
{
    switch (what % 7) {
    case 0:
        *(volatile uint8_t *)p += 1;
        break;
    case 1:
        *(volatile uint16_t *)(void *)p = (uint16_t)what;
        break;
    case 2:
        *(volatile uint32_t *)(void *)p ^= what;
        break;
    case 3:
        (void)*(volatile uint64_t *)(void *)p;
        break;
    case 4:
        _mm_storeu_si128((__m128i *)(void *)p, _mm_set1_epi32((int)what));
        break;
    case 5: /* 512 bytes */
        __asm__ volatile("fxsave (%0)" : : "r"((uintptr_t)p & ~15ul) : "memory");
        break;
    default:
        __asm__ volatile("rep stosb" : "+D"(p) : "a"(what), "c"(what % 97) : "memory");
    }
}

int main(void)
{
    for (uint32_t i = 0; i < 3000; i++)
        one(area + random_number() % (sizeof area - 512), random_number());
    for (uint32_t i = 0; i < 2000; i++) /* one set of many caches, in turn and back */
        area[(i % 14) * 4096] += (unsigned char)i;
    for (uint32_t i = 0; i < 1000; i++)
        one(area + 4096 * 3 + i % 70, random_number());
    unsigned sum = 0;
    for (uint32_t i = 0; i < sizeof area; i += 61)
        sum = sum * 31 + area[i];
    printf("%u\n", sum);
    return 0;
}
