/* SPDX-License-Identifier: MIT */
/* Ways through memory, each a function of its own: one static reference that matters, of known shape. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40, COLUMNS = 50, ITEMS = 4000, THREADS = 3 };

static volatile double matrix[ROWS][COLUMNS];
static volatile uint32_t items[ITEMS];
static volatile uint64_t scalar;
static struct pair {
    volatile uint64_t key, value;
} pairs[ITEMS];
static uint32_t chosen[ITEMS];

#define WALK __attribute__((noinline, noclone)) static void

WALK forwards(void)
{
    for (int i = 0; i < ITEMS; i++)
        (void)items[i];
}

WALK backwards(void)
{
    for (int i = ITEMS; i-- > 0;)
        items[i] = 1;
}

WALK columns(void)
{
    for (int j = 0; j < COLUMNS; j++)
        for (int i = 0; i < ROWS; i++)
            (void)matrix[i][j];
}

WALK blocks(void)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS / 2; j++)
            (void)matrix[i][j];
}

WALK sweeps(void)
{
    for (int k = 0; k < 5; k++)
        for (int i = 0; i < ITEMS; i++)
            items[i] = 1;
}

WALK one_place(void)
{
    for (int i = 0; i < ITEMS; i++)
        scalar = 1;
}

WALK keys(void)
{
    for (int i = 0; i < ITEMS; i++)
        (void)pairs[i].key;
}

WALK chosen_ones(void)
{
    for (int i = 0; i < ITEMS; i++)
        (void)items[chosen[i]];
}

/* Rows of all lengths. */
WALK triangle(void)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < i; j++)
            (void)matrix[i][j];
}

/* One instruction with two references that are alike. */
WALK compared(void)
{
    const void *from = (void *)matrix, *with = pairs; /* both are zero */
    uint64_t n = 900;
    __asm__ volatile("cmp %%al, %%al\n\trep cmpsb" : "+S"(from), "+D"(with), "+c"(n) : : "memory", "cc");
}

/* Each thread goes through a part of its own. */
WALK taken_from(volatile uint32_t *from)
{
    (void)*from;
}

static void *in_a_thread(void *from)
{
    volatile uint32_t *at = from;
    for (int i = 0; i < 1000; i++)
        taken_from(at + i);
    return NULL;
}

int main(void)
{
    uint64_t x = 88172645463325252;
    for (int i = 0; i < ITEMS; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        chosen[i] = (uint32_t)(x % ITEMS);
    }
    compared();
    forwards();
    backwards();
    columns();
    blocks();
    sweeps();
    one_place();
    keys();
    chosen_ones();
    triangle();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, in_a_thread, (void *)(items + 1000 * i));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
