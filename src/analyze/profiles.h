/* SPDX-License-Identifier: MIT */
/* One execution in the forms that profiles come in, and what each takes: DEP, those that its authors
 * compare it with (Zhao, Sim, Wong and Rudolph, "DEP: Detailed Execution Profile", 2006), and gait's own.
 *
 * Each thread has its own profile: its tags, bits and register states are its own. For the compressors the threads'
 * pieces stand one behind the other as their chunks do in the file. */
#ifndef PROFILES_H
#define PROFILES_H

#include "analyze/flow.h"
#include "analyze/squeeze.h"
#include "base/vec.h"
#include "decode/walk.h"

enum profile {
#define PROFILE(name, what) PROFILE_##name,
#include "analyze/profiles.def"
#undef PROFILE
    PROFILE_LIMIT,
};

/* With what profiles are compressed; the first two are those of squeeze.h. */
enum { PROFILES_bzip2 = SQUEEZE_bzip2, PROFILES_zstd = SQUEEZE_zstd, PROFILES_sequitur = 4 };

#define PROFILES_NO_SIZE UINT64_MAX

struct profile_size {
    u64 bytes, bzip2, zstd, sequitur; /* PROFILES_NO_SIZE: not asked for, or makes no sense */
};

struct profiles {
    struct trace_counts counts;
    u64 blocks, conditional, targets, references, slots, values;
    u32 different_blocks;
    u32 sequitur_parts; /* of the one that had the most */
    struct profile_size size[PROFILE_LIMIT];
    struct profiles_work *work;
};

/* sequitur_limit: symbols in one grammar; then another begins. */
void profiles_begin(struct profiles *p, const struct trace *t, u32 with, u64 sequitur_limit);
/* Take the walk's batch. */
void profiles_batch(struct profiles *p, const struct walk *w);
/* Compute the sizes and give back what else was used. */
void profiles_end(struct profiles *p);

const char *profile_name(enum profile f);
const char *profile_text(enum profile f);

#endif
