/* SPDX-License-Identifier: MIT */
/* What the translator knows of each app pc: its unit, its doors, and which exits wait for it. */
#ifndef PLACES_H
#define PLACES_H

#include "base/base.h"

struct place {
    u64 pc;        /* 0 is free */
    u32 unit;      /* unit number + 1, 0 if not translated */
    u32 entry;     /* cache offset of the unit's entry, at its gate */
    u32 inner;     /* and behind the gate */
    bool is_line;  /* the unit always arrives at another gate: direct links need not pass its own */
    u32 door;      /* cache offset of the entry for indirect jumps and calls, 0 if none */
    u32 landing;   /* the same for returns */
    bool dropping; /* its code is going: see translate_drop */
    u32 waiting;   /* first exit (index + 1) that leads here and is not linked */
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

#endif
