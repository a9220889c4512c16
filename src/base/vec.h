/* SPDX-License-Identifier: MIT */
/* A growable array: `struct { T *v; size_t n, cap; }` and its verbs; and memory that is all zeros. Memory exhaustion ends the
 * process. */
#ifndef VEC_H
#define VEC_H

#include "base/base.h"

#include <string.h>

#define VEC(T)         \
    struct {           \
        T *v;          \
        size_t n, cap; \
    }

/* Make room for k more elements and return where they start; the caller fills them. */
#define vec_grow(a, k)                                                                    \
    (((a)->n + (k) > (a)->cap                                                             \
          ? (void)((a)->v = vec_realloc((a)->v, &(a)->cap, (a)->n + (k), sizeof *(a)->v)) \
          : (void)0),                                                                     \
     (a)->n += (k), (a)->v + (a)->n - (k))
#define vec_push(a, x) (*vec_grow(a, 1) = (x))
/* Let there be an element i: all new ones are zero, and there are more of them than asked for. */
#define vec_reach(a, i)                                            \
    do {                                                           \
        if ((i) >= (a)->n) {                                       \
            size_t more_ = (size_t)(i) + 4096 - (a)->n;            \
            memset(vec_grow(a, more_), 0, more_ * sizeof *(a)->v); \
        }                                                          \
    } while (0)
#define vec_fini(a)    (free((a)->v), (a)->v = NULL, (a)->n = (a)->cap = 0)

void *vec_realloc(void *v, size_t *cap, size_t need, size_t size);
/* n elements of this size, to be freed; never NULL, also where n is 0. */
void *zeros(size_t n, size_t size);

#endif
