/* SPDX-License-Identifier: MIT */
/* Every form of every ordinary instruction that Zydis knows and this processor has. */
#ifndef FORMS_H
#define FORMS_H

#include "code.h"

enum form_class {
    FORM_GENERAL, /* general registers and memory */
    FORM_BIT,     /* the same in VEX encoding */
    FORM_STRING,
    FORM_STACK, /* push, pop */
    FORM_DIVIDE,
    FORM_X87,
    FORM_MMX,
    FORM_SSE,
    FORM_VEX,
    FORM_EVEX,
    FORM_MASK, /* k registers in VEX encoding */
    FORM_VSIB, /* gather, scatter */
    FORM_CLASSES,
};

/* What may stand in an operand's place. */
enum role {
    ROLE_FIXED,
    ROLE_GPR,
    ROLE_VECTOR, /* as wide as it was */
    ROLE_MMX,
    ROLE_MASK,
    ROLE_WRITEMASK,
    ROLE_MEMORY,
    ROLE_ADDRESS, /* computed, not accessed */
    ROLE_VSIB,
    ROLE_IMMEDIATE,
};

struct form {
    ZydisEncoderRequest q;
    enum form_class class;
    u8 role[ZYDIS_ENCODER_MAX_OPERANDS];
    u16 bits[ZYDIS_ENCODER_MAX_OPERANDS]; /* of a register, of an immediate as encoded */
    bool is_signed;                       /* the immediate */
    bool stores;                          /* to its memory operand */
    bool aligned;                         /* and faults if that is not aligned */
    bool locks, reps, repes;
    u8 implied[2]; /* registers that point to memory without saying so, or NO_GPR */
};

/* Collect the forms, and keep those that run without a fault; world_map and world_catch_faults come
 * before. Each is tried at `code`, which is `writable` from another side. */
void forms_collect(u64 code, u8 *writable);
size_t forms_count(void);
/* Any form of the class: first an instruction, then one of its forms. */
const struct form *form_pick(struct rng *r, enum form_class class);
/* Append this form with random operands, and before it what it needs; false if that went wrong. */
bool form_put(struct code *c, const struct form *f);
/* The two ways this is done; the first with an operand that is aligned or not. */
bool form_put_with(struct code *c, const struct form *f, bool aligned);
bool form_put_division(struct code *c, const struct form *f);
/* End a sequence. */
void code_leave(struct code *c);

#endif
