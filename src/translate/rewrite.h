/* SPDX-License-Identifier: MIT */
/* Copying one instruction into the cache, changed where it cannot stay as it is. */
#ifndef REWRITE_H
#define REWRITE_H

#include "translate/emit.h"
#include "translate/insn.h"

/* What to change. Registers are REG_NONE where nothing is. */
struct rewrite {
    u8 r11_as; /* the register that stands for the program's r11 */
    u8 rip_as; /* the register that holds the address of a rip-relative operand too far away to
                  reach */
};

/* The absolute address of a rip-relative operand; false if there is none. */
bool insn_rip_target(const struct insn *in, u64 *target);
/* Does it go through gs? The gs register is ours. */
bool insn_uses_gs(const struct insn *in);
/* Copy with the changes; false if this form cannot be changed. */
bool rewrite_insn(struct emit *e, const struct insn *in, struct rewrite rw);
/* Emit `mov reg, [operand]` for the memory operand of an indirect jump or call. */
void rewrite_target_load(struct emit *e, const struct insn *in, u8 reg, struct rewrite rw);

#endif
