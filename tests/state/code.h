/* SPDX-License-Identifier: MIT */
/* A sequence in the making: its bytes, its labels, and what is known of the registers.
 *
 * Every instruction goes through Zydis' encoder and back through its decoder, which tells what it
 * writes. So it is known which registers still hold a pointer that can be used, and which a loop
 * around the place needs unchanged. What is known may be wrong in the rare case (a loop moves a
 * pointer further than thought): then the sequence faults when it is tried, and is thrown away. */
#ifndef CODE_H
#define CODE_H

#include "rng.h"
#include "world.h"

#include <Zydis/Zydis.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, NO_GPR = 255 };
enum { CODE_LIMIT = 2048, LABEL_LIMIT = 96, FIX_LIMIT = 128 };

enum kind { NOTHING, POINTER, SMALL };
struct know {
    enum kind kind;
    bool low;     /* a pointer into low scratch */
    bool aligned; /* a pointer to a multiple of 64 */
    s32 slack;    /* how far from the middle of its page a pointer may be */
};

enum fix_kind { FIX_REL8, FIX_REL32, FIX_ABS32, FIX_ABS64 };
struct fix {
    enum fix_kind kind;
    u32 field, end; /* where it is, and the end of its instruction */
    u32 label;
};

struct code {
    struct rng rng;
    u64 base; /* the address of the first byte */
    u32 n;
    bool failed;
    u8 bytes[CODE_LIMIT];
    struct know know[16];
    u16 reserved; /* registers that must not be written now */
    u16 uses;
    s32 depth;      /* bytes pushed since the beginning */
    s32 floor;      /* nothing may be popped that was pushed before this depth */
    bool odd_stack; /* rsp is not where it began: do not reach over what was pushed */
    bool may_move_rsp;
    bool spelled_simply; /* the length of what is put matters */
    u32 n_labels, n_fixes;
    s32 label[LABEL_LIMIT]; /* offset, or -1 while it is not set */
    struct fix fix[FIX_LIMIT];
};

struct place {
    ZydisEncoderOperand op;
    u64 prefixes;
};

void code_begin(struct code *c, u64 base, u64 seed);
static inline u64 code_here(const struct code *c)
{
    return c->base + c->n;
}
/* Append one instruction; false, and nothing has happened, if it cannot be encoded or would write
 * what must stay. A rip-relative operand holds the address it means. */
bool code_put(struct code *c, ZydisEncoderRequest *q);
/* Write an instruction in another way that means the same, if there is one. */
void code_respell(struct code *c, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op,
                  u8 *bytes, ZyanUSize *len);
const ZydisDecoder *code_decoder(void);
/* Append an instruction that must be possible: the sequence is lost otherwise. */
void code_op(struct code *c, ZydisMnemonic m, u32 n, ...);
void code_op_at(struct code *c, ZydisMnemonic m, const struct place *p, u32 n, ...);
void code_data(struct code *c, u64 x);

ZydisEncoderOperand reg_op(ZydisRegister r);
ZydisEncoderOperand imm_op(s64 x);
ZydisEncoderOperand mem_op(u8 base, s64 disp, u32 size); /* base may be NO_GPR */
ZydisRegister gpr(u8 r, u32 bits);
u8 gpr_number(ZydisRegister r);

/* -- Labels -- */
u32 label_new(struct code *c);
void label_here(struct code *c, u32 label);
/* A direct branch, 8 or 32 bits wide, to a label. */
void code_branch(struct code *c, ZydisMnemonic m, u32 label, u32 bits);
void code_lea_label(struct code *c, u8 reg, u32 label);
void code_fix(struct code *c, enum fix_kind kind, u32 field, u32 label);
/* Fill in all labels; false if one is out of reach. */
bool code_resolve(struct code *c);

/* -- Registers -- */
/* A register that may be written; r10 and r11 more often than others. */
u8 pick_register(struct code *c);
/* Any register that may be read. */
u8 pick_source(struct code *c);
/* A pointer in this register, or in any if it is NO_GPR; which one it is in. */
u8 need_pointer(struct code *c, u8 reg, bool low, bool aligned);
u8 need_small(struct code *c);
void forget(struct code *c, u8 reg);
void forget_all(struct code *c);
/* What is known where two ways meet. */
void know_meet(struct code *c, const struct know other[16]);

/* An operand of so many bytes that can be read, or written too. */
struct place pick_place(struct code *c, u32 size, bool aligned, bool store);
/* A prefix for fs or gs, or none, which is more likely. */
u64 pick_segment(struct code *c);
/* A fixed place in low memory, addressed in some way. */
struct place pick_way(struct code *c, u64 address, u32 size);

#endif
