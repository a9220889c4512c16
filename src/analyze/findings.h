/* SPDX-License-Identifier: MIT */
/* What a detector has found in a stream: how much is regular, and the descriptors that stand for most of it. */
#ifndef FINDINGS_H
#define FINDINGS_H

#include "analyze/detector.h"
#include "base/vec.h"

/* What references are part of. */
enum found_as { FOUND_irregular, FOUND_rsd, FOUND_prsd, FOUND_AS };

enum { FOUND_STRIDES = 4 };

struct findings_rules {
    struct detector_rules detector; /* of which findings_done and findings_done_ones are told */
    u32 keep;                       /* descriptors, at most */
    bool all;                       /* ... or all there are */
    bool check;                     /* expand what is done, and see whether it is what was given */
};

struct findings {
    const struct findings_rules *rules;
    struct pool *pool; /* of what is kept */
    u64 refs[FOUND_AS];
    u64 rsds, prsds, iads; /* a PRSD has another or an RSD in it, which counts too */
    struct {
        u64 stride, refs;
    } strides[FOUND_STRIDES]; /* of RSDs; the first that came */
    u32 n_strides, n_kept, kept_room;
    struct descriptor *
        *kept;           /* those that stand for most references, in the order they were done */
    u32 smallest; /* of them, when there are as many as may be: which one stands for least, the last such one, */
    u64 least;           /* ... and for how many */
    u64 lowest, highest; /* addresses */
    u64 given, expanded; /* sums of digests */
};

void findings_init(struct findings *f, const struct findings_rules *rules, struct pool *pool);
void findings_done(void *findings, const struct descriptor *d);
void findings_done_ones(void *findings, u64 place, const u64 *address, size_t n, size_t every);
/* Something was given to the detector, of type 0: the first at this place; `every` apart in an array. */
void findings_given(struct findings *f, u64 place, const u64 *address, size_t n, size_t every);
u64 findings_refs(const struct findings *f);
u64 findings_bytes(const struct findings *f);
/* The one that stands for most; NULL if there is none. */
const struct descriptor *findings_largest(const struct findings *f);
/* The one that stands for all references; NULL if there is none. */
const struct descriptor *findings_only(const struct findings *f);
/* The stride that most references of RSDs have; false if there are none. */
bool findings_stride(const struct findings *f, u64 *stride, u64 *refs);

#endif
