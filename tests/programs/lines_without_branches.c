/* SPDX-License-Identifier: MIT */
/* Long stretches without a conditional branch: only returns, then only indirect jumps. Each must still pass a gate, or the
 * buffer overflows. */
#include <stdio.h>
#include <string.h>

static volatile long sink;

/* On the way back every frame is a straight line from one return to the next. */
__attribute__((noinline, noclone, optimize("no-optimize-sibling-calls"))) static long down(long n)
{
    if (n == 0)
        return 0;
    long below = down(n - 1);
    sink = below;
    return below + n;
}

/* Threaded code: every step is a straight line that ends in an indirect jump. */
static long threaded(const unsigned char *code)
{
    static void *const step[] = {&&add, &&twist, &&store, &&end};
    long x = 1;
    goto *step[*code++];
add:
    x += 3;
    goto *step[*code++];
twist:
    x ^= x << 1;
    goto *step[*code++];
store:
    sink = x;
    goto *step[*code++];
end:
    return x;
}

int main(void)
{
    static unsigned char code[200001];
    for (unsigned i = 0; i < sizeof code - 1; i++)
        code[i] = (unsigned char)(i * 7 % 3);
    code[sizeof code - 1] = 3;
    printf("%ld\n", down(60000));
    printf("%ld\n", threaded(code));
    return 0;
}
