/* SPDX-License-Identifier: MIT */
/* The references of a work as extents, sorted into parts: stretches of bytes within a page, in order.
 *
 * A reference is one extent, unless it crosses into another page, which may be another part's: then it is as many pieces, and what it
 * reads is known when all of them have been looked at. What a rep instruction does within a page is one extent, however often it does
 * it: so a work stays small. */
#ifndef EXTENTS_H
#define EXTENTS_H

#include "analyze/shadow.h"
#include "decode/decode.h"

enum {
    EXTENT_KIND = 3,  /* enum ref_kind */
    EXTENT_PIECE = 4, /* `ref` is the number of a piece */
};

struct extent {
    u64 address;
    u64 time; /* instructions of the work up to its own, that included */
    u32 ref;  /* of the unit table */
    u16 bytes;
    u8 element; /* references of so many bytes, one beside the other; 0: one of all */
    u8 flags;
};

/* A load that crosses pages: its pieces. */
struct crossing {
    u64 time;
    u32 ref;
    u32 first, n;
};

/* Whose it is, and its writers: so many of those that were found in its part. */
struct piece {
    u32 ref;
    u32 part, first, n;
};

struct extent_part {
    VEC(struct extent) list;
    VEC(struct writer) found; /* of pieces, by whoever looks at them */
};

struct extents {
    u32 n_parts;
    struct extent_part *parts;
    VEC(struct crossing) crossings;
    VEC(struct piece) pieces;
    u64 insns;         /* of all records but an unfinished one */
    u64 loads, stores; /* a reference that reads and writes is both; never emptied */
};

void extents_init(struct extents *s, u32 parts);
void extents_fini(struct extents *s);
void extents_empty(struct extents *s);
void extents_add(struct extents *s, const struct events *e);

#endif
