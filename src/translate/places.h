/* SPDX-License-Identifier: MIT */
/* What the translator knows of each app pc, in each version: its unit, its doors, and which exits lead to it. */
#ifndef PLACES_H
#define PLACES_H

#include "base/base.h"
#include "base/vec.h"

struct place {
    u64 pc;       /* with PC_QUIET: its quiet version; 0 is free */
    u32 unit;     /* unit number + 1, 0 if not translated; others may be below it */
    u32 entry;    /* cache offset of the unit's entry, at its gate */
    u32 inner;    /* and behind the gate */
    bool is_line; /* the unit always arrives at another gate: direct links need not pass its own */
    bool asks;    /* the quiet unit begins with the question whether its code is familiar by now */
    bool careful; /* the stack has been seen near its code, which is volatile */
    u32 door;     /* cache offset of the entry for indirect jumps and calls, 0 if none */
    u32 landing;  /* the same for returns */
    u32 call; /* cache offset of the real call that the landing is behind, 0 if it is behind none */
    u64 callee; /* where that goes; 0 if it is indirect */
    u32 index;  /* where it is in the shared index, + 1 */
    u32 exits;  /* first exit (number + 1) that leads here; all are linked while there is a unit */
    u32 before; /* the exit (number + 1) that runs on into the unit without a jump, 0 if none */
};

struct places {
    struct place *v;
    u32 n, cap; /* cap is a power of two */
};

/* Find or make the place of a pc. The pointer holds until the next call. */
struct place *places_get(struct places *p, u64 pc);
/* Find the place of a pc, or NULL; moves nothing. */
struct place *places_find(const struct places *p, u64 pc);
void places_fini(struct places *p);

/* Which units depend on the bytes of a page of the program. */
struct resident {
    u64 pc;
    u32 unit; /* of the place at pc; if it has another by now, this one is gone */
};

struct page {
    u64 number; /* + 1; 0 is free */
    VEC(struct resident) units;
};

struct pages {
    struct page *v;
    u32 n, cap;
};

struct page *pages_get(struct pages *p, u64 number);
struct page *pages_find(const struct pages *p, u64 number);
void pages_fini(struct pages *p);

#endif
