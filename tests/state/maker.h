/* SPDX-License-Identifier: MIT */
/* What the files that make a sequence share. */
#ifndef MAKER_H
#define MAKER_H

#include "code.h"

enum { FUNCTION_LIMIT = 4, LITERAL_LIMIT = 24 };

enum function_kind { F_PLAIN, F_SKIPS, F_POPS, F_TAIL, F_RECURSES, FUNCTION_KINDS };

struct function {
    enum function_kind kind;
    u32 label;
    u32 pops;     /* bytes of arguments that it takes off the stack */
    u16 reserved; /* what its callers need unchanged */
    s32 depth;    /* of the deepest of them */
};

struct maker {
    struct code *c;
    u32 nest;
    u32 first_callable; /* functions call only later ones */
    u32 n_functions, n_literals;
    struct function function[FUNCTION_LIMIT];
    struct {
        u32 label, target;
    } literal[LITERAL_LIMIT];
};

/* sequence.c: so many items, and the stack is as before; a step of the stack pointer. */
void block(struct maker *m, u32 items);
void move_rsp(struct code *c, s32 by);

/* flow.c: items that go somewhere, and the functions that they call. */
void item_if(struct maker *m);
void item_if_count(struct maker *m);
void item_loop(struct maker *m);
void item_jump(struct maker *m);
void item_switch(struct maker *m);
void item_call(struct maker *m);
void item_call_pop(struct maker *m);
void put_function(struct maker *m, struct function *f);

#define OP(name, ...)                                                                   \
    code_op(c, ZYDIS_MNEMONIC_##name,                                                   \
            sizeof((ZydisEncoderOperand[]){__VA_ARGS__}) / sizeof(ZydisEncoderOperand), \
            __VA_ARGS__)
#define R64(r) reg_op(gpr(r, 64))
#define R32(r) reg_op(gpr(r, 32))
#define I(x)   imm_op(x)

static inline bool is_free(const struct code *c, u8 r)
{
    return !(c->reserved >> r & 1);
}

#endif
