/* SPDX-License-Identifier: MIT */
/* The references of a work as spans, sorted into parts: stretches of bytes within a page, in order.
 *
 * A reference is one span, unless it crosses into another page, which may be another part's: then it is as many pieces, and what it
 * reads is known when all of them have been looked at. What a rep instruction does within a page is one span, however often it does
 * it: so a work stays small. */
#ifndef SPANS_H
#define SPANS_H

#include "analyze/shadow.h"
#include "decode/decode.h"

enum {
    SPAN_KIND = 3,  /* enum ref_kind */
    SPAN_PIECE = 4, /* `ref` is the number of a piece */
};

struct span {
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

struct span_part {
    VEC(struct span) list;
    VEC(struct writer) found; /* of pieces, by whoever looks at them */
};

struct spans {
    u32 n_parts;
    struct span_part *parts;
    VEC(struct crossing) crossings;
    VEC(struct piece) pieces;
    u64 insns;         /* of all records but an unfinished one */
    u64 loads, stores; /* a reference that reads and writes is both; never emptied */
};

void spans_init(struct spans *s, u32 parts);
void spans_fini(struct spans *s);
void spans_empty(struct spans *s);
void spans_add(struct spans *s, const struct events *e);

#endif
