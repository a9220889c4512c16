/* SPDX-License-Identifier: MIT */
/* How references take turns: data streams with interleave vectors, as METRIC's paper has them.
 *
 *     DS  <primary, secondary, IV>     each a reference's descriptor or a DS
 *     IV  <pp, pk, sk>                 pp references of the primary; then, in turns, sk of the secondary and pk of the primary */
#ifndef INTERLEAVE_H
#define INTERLEAVE_H

#include "analyze/descriptors.h"
#include "base/vec.h"

/* A reference whose places are one descriptor, or several references as one. */
struct strand {
    const struct descriptor_loop *loop; /* of its places: the stride is from one to the next */
    u32 depth;
    u32 data; /* a DS's index in the list it is in, else whose reference it is */
    bool is_ds;
    u64 first;   /* its first place */
    u64 length;  /* places up to its last in one round of the innermost loop */
    u64 refs;    /* in one round */
    u64 address; /* the first; references that begin there are of the same array */
};

struct data_stream {
    struct strand primary, secondary;
    u64 pp, pk, sk;
    u64 refs; /* in all */
};

struct data_streams {
    VEC(struct data_stream) of;
};

/* Put together what takes turns, the inner loops first. The strands are of one thread, and are changed. */
void interleave(struct strand *strands, size_t n, struct data_streams *to);

#endif
