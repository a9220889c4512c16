/* SPDX-License-Identifier: MIT */
/* A bit of everything a simple C program does: heap, strings, sorting, floating point, recursion, formatted output. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    char name[24];
    double weight;
    int rank;
};

static int by_weight(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return (x->weight > y->weight) - (x->weight < y->weight);
}

static unsigned ackermann(unsigned m, unsigned n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

int main(void)
{
    enum { N = 200 };
    struct item *items = calloc(N, sizeof *items);
    unsigned seed = 42;
    for (int i = 0; i < N; i++) {
        seed = seed * 1103515245 + 12345;
        snprintf(items[i].name, sizeof items[i].name, "item-%03d", i);
        items[i].weight = sqrt((double)(seed >> 8)) / 7;
        items[i].rank = i;
    }
    qsort(items, N, sizeof *items, by_weight);
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += items[i].weight * items[i].rank;
    char *text = malloc(N * 32);
    text[0] = 0;
    for (int i = 0; i < N; i += 10)
        strcat(strcat(text, items[i].name), i % 20 ? " " : "\n");
    printf("%s\n%.6f %u %zu\n", text, sum, ackermann(2, 9), strlen(text));
    free(text);
    free(items);
    return 0;
}
