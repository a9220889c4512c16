/* SPDX-License-Identifier: MIT */
/* How many bytes something takes: as it is, with bzip2 -9, with zstd -3. What the compressors make is counted and
 * thrown away, so any amount can be measured. */
#ifndef SQUEEZE_H
#define SQUEEZE_H

#include "base/base.h"

enum { SQUEEZE_bzip2 = 1, SQUEEZE_zstd = 2 };

struct squeeze {
    u64 raw, bzip2, zstd; /* the last two, when it has ended */
    struct squeeze_tools *tools; /* NULL: no compressor was asked for */
    u32 n; /* bytes that wait */
    u8 buf[64 << 10];
};

/* with: the compressors to use, SQUEEZE_... */
void squeeze_begin(struct squeeze *q, u32 with);
void squeeze_put(struct squeeze *q, const void *bytes, size_t n);
/* No more bytes come: compute the sizes. */
void squeeze_end(struct squeeze *q);

void squeeze_flush(struct squeeze *q);

/* The low n bytes of a number, at most 8. */
static inline void squeeze_number(struct squeeze *q, u64 x, u32 n)
{
    if (q->n + sizeof x > sizeof q->buf)
        squeeze_flush(q);
    __builtin_memcpy(q->buf + q->n, &x, sizeof x);
    q->n += n;
}

#endif
