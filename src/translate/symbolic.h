/* SPDX-License-Identifier: MIT */
/* Symbolic execution of a unit: which register values the decoder will be able to compute. */
#ifndef SYMBOLIC_H
#define SYMBOLIC_H

#include "base/base.h"
#include "translate/insn.h"

/* A value the decoder can compute: a + (b << shift) + c, with terms as in unit.h; or unknown. */
struct value {
    s64 c;
    u8 a, b, shift;
    bool known;
};

/* The values of the general registers at one point of the unit. */
struct values {
    struct value reg[16];
};

/* At a unit's entry only rsp is known. */
void values_enter(struct values *v);
/* The register was just stored in this slot. */
void values_stored(struct values *v, u8 reg, u8 slot);
/* Apply one instruction. */
void values_step(struct values *v, const struct insn *in);
/* base + (index << shift) + disp, if the decoder can compute it; registers may be REG_NONE. */
bool values_address(const struct values *v, u8 base, u8 index, u8 shift, s64 disp,
                    struct value *out);

#endif
