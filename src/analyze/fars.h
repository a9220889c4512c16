/* SPDX-License-Identifier: MIT */
/* Where far accesses are made: of each reference and instruction, how many of its accesses have great distances. */
#ifndef FARS_H
#define FARS_H

#include "base/vec.h"

enum { FARS = 4 /* at most */ };

/* A reference of the unit table, or, with FAR_CODE, an instruction of it. */
#define FAR_CODE 0x80000000u

/* From which distances on, in lines, accesses are counted: going up, and UINT64_MAX behind the last. */
struct far_limits {
    u32 n;
    u64 least[FARS];
};

struct far {
    u64 cold, beyond[FARS];
};

struct fars {
    const struct far_limits *limits;
    VEC(struct far) refs, insns; /* by number in the table */
};

enum { DISTANCE_COLD = -1 };

/* An access beyond the first limit; cold ones are beyond all. */
void fars_count(struct fars *f, u32 id, u64 distance, u64 times);
void fars_fini(struct fars *f);

#endif
