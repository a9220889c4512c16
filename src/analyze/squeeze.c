/* SPDX-License-Identifier: MIT */
/* Compressors whose output nobody wants. */
#include "analyze/squeeze.h"
#include "base/err.h"

#include <bzlib.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { ZSTD_LEVEL = 3, BZIP2_LEVEL = 9 };

struct squeeze_tools {
    u32 with;
    bz_stream bzip2;
    ZSTD_CCtx *zstd;
    char out[64 << 10];
};

void squeeze_begin(struct squeeze *q, u32 with)
{
    q->raw = q->bzip2 = q->zstd = q->n = 0;
    q->tools = NULL;
    if (!with)
        return;
    struct squeeze_tools *t = q->tools = calloc(1, sizeof *t);
    check(t != NULL);
    t->with = with;
    if (with & SQUEEZE_bzip2)
        check(BZ2_bzCompressInit(&t->bzip2, BZIP2_LEVEL, 0, 0) == BZ_OK);
    if (with & SQUEEZE_zstd) {
        t->zstd = ZSTD_createCCtx();
        check(t->zstd != NULL);
        ZSTD_CCtx_setParameter(t->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    }
}

static void bzip2_put(struct squeeze *q, const u8 *bytes, u32 n, int action)
{
    bz_stream *s = &q->tools->bzip2;
    int done;
    s->next_in = (char *)bytes;
    s->avail_in = n;
    do {
        s->next_out = q->tools->out;
        s->avail_out = sizeof q->tools->out;
        done = BZ2_bzCompress(s, action);
        check(done >= 0);
        q->bzip2 += sizeof q->tools->out - s->avail_out;
    } while (action == BZ_RUN ? s->avail_in > 0 : done != BZ_STREAM_END);
}

static void zstd_put(struct squeeze *q, const u8 *bytes, u32 n, ZSTD_EndDirective action)
{
    ZSTD_inBuffer in = {bytes, n, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {q->tools->out, sizeof q->tools->out, 0};
        left = ZSTD_compressStream2(q->tools->zstd, &out, &in, action);
        check(!ZSTD_isError(left));
        q->zstd += out.pos;
    } while (action == ZSTD_e_continue ? in.pos < in.size : left > 0);
}

void squeeze_flush(struct squeeze *q)
{
    u32 with = q->tools ? q->tools->with : 0;
    q->raw += q->n;
    if (with & SQUEEZE_bzip2 && q->n)
        bzip2_put(q, q->buf, q->n, BZ_RUN);
    if (with & SQUEEZE_zstd && q->n)
        zstd_put(q, q->buf, q->n, ZSTD_e_continue);
    q->n = 0;
}

void squeeze_put(struct squeeze *q, const void *bytes, size_t n)
{
    for (const u8 *at = bytes; n;) {
        if (q->n == sizeof q->buf)
            squeeze_flush(q);
        size_t k = MIN(n, sizeof q->buf - q->n);
        memcpy(q->buf + q->n, at, k);
        q->n += (u32)k;
        at += k;
        n -= k;
    }
}

void squeeze_end(struct squeeze *q)
{
    struct squeeze_tools *t = q->tools;
    squeeze_flush(q);
    if (!t)
        return;
    if (t->with & SQUEEZE_bzip2) {
        bzip2_put(q, NULL, 0, BZ_FINISH);
        BZ2_bzCompressEnd(&t->bzip2);
    }
    if (t->with & SQUEEZE_zstd) {
        zstd_put(q, NULL, 0, ZSTD_e_end);
        ZSTD_freeCCtx(t->zstd);
    }
    free(t);
    q->tools = NULL;
}
