/* SPDX-License-Identifier: MIT */
/* A thousand calls of a loop of 50 rounds: where nearly all instructions are is known. */
#ifndef ROUNDS
#define ROUNDS 50
#endif

static volatile int sum;

__attribute__((noinline)) static void inner(void)
{
    for (int i = 0; i < ROUNDS; i++) /* the loop's head */
        sum += i;                    /* the loop's body */
}

int main(void)
{
    for (int j = 0; j < 1000; j++)
        inner();
    return sum == 0;
}
