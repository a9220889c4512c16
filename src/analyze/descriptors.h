/* SPDX-License-Identifier: MIT */
/* Descriptors of regular sections, as METRIC's paper on partial data traces has them:
 *
 *     IAD   <address, i>                      one reference, the i-th of its stream
 *     RSD   <start, length, stride, type>     references at even distances
 *     PRSD  <start, length, stride, inner>    an RSD or PRSD again and again, at even distances
 *
 * One struct is all of them: a start and any number of loops around it, the inner ones first. Besides the stride of its addresses, each
 * loop has a step: by how much the place in the stream goes up. So descriptors expand to the very stream they were made of, also
 * where several take turns. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include "base/base.h"

#include <stdio.h>

enum { DESCRIPTOR_DEPTH = 12 /* loops at most */ };

struct descriptor_loop {
    u64 count;
    u64 stride; /* from round to round; backwards, if it is negative as an s64 */
    u64 step;   /* of places in the stream */
};

struct descriptor {
    u64 start, place; /* of the first reference */
    u32 type;         /* what it was told; all its references have the same */
    u32 source;       /* ... with the first of them */
    u32 depth;        /* loops: 0 is an IAD, 1 an RSD, more are PRSDs around one */
    u32 shape;        /* a hash of type and loops, as long as others are compared with it */
    struct descriptor_loop loop[];
};

/* Room for any of them. */
union any_descriptor {
    struct descriptor d;
    u8 room[sizeof(struct descriptor) + DESCRIPTOR_DEPTH * sizeof(struct descriptor_loop)];
};

static inline size_t descriptor_size(u32 depth)
{
    return sizeof(struct descriptor) + depth * sizeof(struct descriptor_loop);
}

/* The references it stands for. */
u64 descriptor_refs(const struct descriptor *d);
/* Call with each of them: its place and its address. */
void descriptor_expand(const struct descriptor *d, void (*put)(void *to, u64 place, u64 address),
                       void *to);
/* Do their loops go the same way, whatever their starts are? */
bool descriptor_same_loops(const struct descriptor *a, const struct descriptor *b);
/* In the paper's notation, each inside the one around it. */
void descriptor_print(FILE *f, const struct descriptor *d, const char *type);

/* A number for a reference at a place: sums of them tell streams apart, whatever the order they were summed up in. */
static inline u64 descriptor_digest(u64 place, u64 address, u32 type)
{
    u64 x = (place + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9 ^ type * 0xd6e8feb86659fd93;
    x = (x ^ x >> 32 ^ address) * 0x94d049bb133111eb;
    x = (x ^ x >> 29 ^ address >> 32) * 0xff51afd7ed558ccd;
    return x ^ x >> 32;
}

#endif
