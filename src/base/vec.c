/* SPDX-License-Identifier: MIT */
/* Growth of growable arrays, and memory that is all zeros. */
#include "base/vec.h"
#include "base/err.h"

#include <stdlib.h>

void *vec_realloc(void *v, size_t *cap, size_t need, size_t size)
{
    size_t n = *cap ? *cap : 16;
    while (n < need)
        n *= 2;
    void *p = realloc(v, n * size);
    check(p != NULL);
    *cap = n;
    return p;
}

void *zeros(size_t n, size_t size)
{
    void *p = calloc(MAX(n, 1ul), size);
    check(p != NULL);
    return p;
}
