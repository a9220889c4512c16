/* SPDX-License-Identifier: MIT */
/* What a sequence starts from and what it leaves behind. */
#ifndef WORLD_H
#define WORLD_H

#include "base/base.h"
#include "machine.h"

#include <stdio.h>

struct state {
    u64 gpr[16]; /* in hardware order */
    u64 flags, fs, gs, target;
    u64 unused[4];
    u64 k[8];
    u8 fx[512];
    u8 vector[32][64];
};
_Static_assert(sizeof(struct state) == S_SIZE, "machine.h tells enter.S where things are");

enum vector_level { LEVEL_SSE, LEVEL_AVX, LEVEL_AVX512 };

/* Which memory besides scratch and stack a sequence uses. */
enum { USES_FS = 1, USES_GS = 2, USES_SAVE = 4 };

/* What must hold when a sequence begins. All else follows from the seed. */
struct start {
    u64 seed;
    u16 low, high; /* masks of registers that point into low and high scratch */
    u16 small;     /* registers from -32 to 31 */
    u16 uses;
};

/* Map all of it; a sentence and the end of the program if that cannot be. */
void world_map(void);
enum vector_level world_level(void);
/* The processor's state components, as XCR0 has them. */
u64 world_components(void);
/* Let faults and endless loops of sequences end in world_run's answer instead of the program. */
void world_catch_faults(void);
/* Set all memory and registers for one round. */
void world_prepare(const struct start *s, u32 round);
/* Run the code there; false if it faulted or did not end. */
bool world_run(u64 address);
/* A number for everything that the sequence left. */
u64 world_hash(const struct start *s);
/* The same, to read: all registers, and the memory that is not as it was. */
void world_dump(const struct start *s, FILE *to);

#endif
