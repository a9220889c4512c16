/* SPDX-License-Identifier: MIT */
/* One random sequence of instructions. */
#ifndef SEQUENCE_H
#define SEQUENCE_H

#include "code.h"

struct sequence {
    u64 address;
    u32 size, code_size; /* with and without the addresses behind the code */
    struct start start;
};

/* Make the sequence that belongs to this seed at this address; false if nothing came of it. */
bool sequence_make(struct sequence *s, struct code *c, u64 address, u64 seed);

#endif
