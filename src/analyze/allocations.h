/* SPDX-License-Identifier: MIT */
/* What records tell of allocation: which functions were called with what, and what they returned. Of calls within calls (realloc calls malloc) the
 * outermost counts. */
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include "analyze/passes.h"
#include "base/vec.h"
#include "decode/decode.h"

/* Something that was watched. */
struct sighting {
    u64 refs, insns; /* of the work before it */
    u8 kind;         /* an enum watch; SIGHTING_brk: a system call, whose result is the first value */
    u64 value[5];    /* as docs/trace-format.md has the slots */
};
enum { SIGHTING_brk = 255 };

/* Where a record begins in a work, and with which stack pointer: not that of the one before. */
struct beginning {
    u32 refs, insns;
    u64 rsp;
};

/* Those of a work. */
struct sightings {
    VEC(struct sighting) v;
    VEC(struct beginning) records;
    u64 refs, insns; /* of the work so far */
    u64 rsp;         /* of the thread, when the work begins; 0: not known */
    VEC(u8) units;   /* of the table: 1 it has watched instructions, 2 it has none, 0 not looked at */
};

void sightings_open(struct sightings *s);
void sightings_add(struct sightings *s, const struct events *e);
void sightings_fini(struct sightings *s);

/* What comes of them: memory from start to end is allocated by a call that returns to `site`, or freed. */
enum allocation_kind { ALLOCATION_none, ALLOCATION_block, ALLOCATION_mapping, ALLOCATION_free, ALLOCATION_unmap };
struct allocation {
    enum allocation_kind kind;
    u64 start, end, site;
    u64 old, old_end; /* freed at the same moment; 0: none */
    bool old_is_mapping;
};

/* The call that a thread is in. */
struct allocating {
    struct sighting call; /* of kind 0: none */
    u64 inner;            /* what the last call within posix_memalign has returned */
};

struct allocation allocating_see(struct allocating *a, const struct sighting *s);

#endif
