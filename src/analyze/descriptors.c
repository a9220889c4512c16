/* SPDX-License-Identifier: MIT */
/* Descriptors: what they stand for, and how they are written. */
#include "analyze/descriptors.h"

#include <inttypes.h>
#include <string.h>

u64 descriptor_refs(const struct descriptor *d)
{
    u64 n = 1;
    for (u32 i = 0; i < d->depth; i++)
        n *= d->loop[i].count;
    return n;
}

bool descriptor_same_loops(const struct descriptor *a, const struct descriptor *b)
{
    return a->depth == b->depth && !memcmp(a->loop, b->loop, a->depth * sizeof a->loop[0]);
}

static void expand(const struct descriptor *d, u32 depth, u64 place, u64 address,
                   void (*put)(void *to, u64 place, u64 address), void *to)
{
    if (!depth) {
        put(to, place, address);
        return;
    }
    const struct descriptor_loop *l = &d->loop[depth - 1];
    for (u64 i = 0; i < l->count; i++)
        expand(d, depth - 1, place + i * l->step, address + i * l->stride, put, to);
}

void descriptor_expand(const struct descriptor *d, void (*put)(void *to, u64 place, u64 address),
                       void *to)
{
    expand(d, d->depth, d->place, d->start, put, to);
}

void descriptor_print(FILE *f, const struct descriptor *d, const char *type)
{
    if (!d->depth) {
        fprintf(f, "IAD<0x%" PRIx64 ", %" PRIu64 ", %s>", d->start, d->place, type);
        return;
    }
    for (u32 i = d->depth; i-- > 0;)
        fprintf(f, "%sRSD<0x%" PRIx64 ", %" PRIu64 ", %" PRId64 ", ", i ? "P" : "", d->start,
                d->loop[i].count, (s64)d->loop[i].stride);
    fputs(type, f);
    for (u32 i = 0; i < d->depth; i++)
        putc('>', f);
}
