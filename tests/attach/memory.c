/* SPDX-License-Identifier: MIT */
/* One thread that goes through memory and finds what it left there. */
#include <stdint.h>
#include <stdio.h>

static uint64_t table[1 << 14];

__attribute__((noinline)) static uint64_t walk(uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 1 << 14; i++) {
        uint64_t at = (i * 5039 + n) & ((1 << 14) - 1);
        sum += table[at];
        table[at] = i ^ n;
    }
    return sum;
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    walk(0);
    puts("ready");
    for (uint64_t n = 1;; n++) {
        uint64_t expected = 0;
        for (uint64_t i = 0; i < 1 << 14; i++)
            expected += i ^ (n - 1);
        if (walk(n) != expected)
            puts("memory has changed");
        if (n % 500 == 0)
            puts("round");
    }
}
