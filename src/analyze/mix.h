/* SPDX-License-Identifier: MIT */
/* What the analysis `mix` counts, and the tables it makes of that. */
#ifndef MIX_H
#define MIX_H

#include "analyze/nature.h"
#include "analyze/spots.h"

/* What is counted of each instruction. */
enum mix_count {
    MIX_insns,
    MIX_loads,
    MIX_stores,
    MIX_modifies,
    MIX_branches, /* conditional */
    MIX_vectors,
    MIX_COUNTS,
};

/* References of one size, by kind. */
struct mix_size {
    u64 made[REF_MODIFY + 1];
};

struct mix {
    struct spots spots;
    u64 records, taken;
    u64 goes[GOES_KINDS], vectors[VECTOR_KINDS];
    u64 lengths[ZYDIS_MAX_INSTRUCTION_LENGTH + 1];
    u64 mnemonics[ZYDIS_MNEMONIC_MAX_VALUE + 1];
    u64 categories[ZYDIS_CATEGORY_MAX_VALUE + 1];
    u64 extensions[ZYDIS_ISA_EXT_MAX_VALUE + 1];
    u64 reads[ZYDIS_REGISTER_MAX_VALUE + 1], writes[ZYDIS_REGISTER_MAX_VALUE + 1];
    VEC(struct mix_size) sizes; /* by size */
};

/* An instruction of this nature and length ran so often. */
void mix_insn(struct mix *m, const struct nature *n, u8 length, u64 ran);
/* A reference was made so often. */
void mix_size(struct mix *m, u32 size, u32 kind, u64 made);
/* The tables of a struct mix. */
void mix_finish(void *mix, struct sources *s, struct result *r);

#endif
