/* SPDX-License-Identifier: MIT */
/* What an instruction is, for whoever counts instructions: its name and kind, which registers it uses, how wide its vectors are. */
#ifndef NATURE_H
#define NATURE_H

#include "translate/insn.h"

/* Where it goes. */
enum goes {
    GOES_on,
    GOES_cond,  /* a conditional branch */
    GOES_jump,  /* direct */
    GOES_call,  /* direct */
    GOES_ijump, /* through a register or memory */
    GOES_icall,
    GOES_ret,
    GOES_kernel, /* a system call */
    GOES_KINDS,
};

/* The widest vector register that it names. */
enum vector_kind {
    VECTOR_none,
    VECTOR_scalar, /* one element of one */
    VECTOR_64,
    VECTOR_128,
    VECTOR_256,
    VECTOR_512,
    VECTOR_KINDS,
};

/* Registers, by the name of the widest that contains them. */
struct registers {
    u32 n;
    u16 v[32]; /* ZydisRegister; each once */
};

struct nature {
    u16 mnemonic, category, extension; /* of Zydis */
    u8 goes, vector;
    struct registers reads, writes;
};

/* Bytes that are no instruction, which only a forged table has, are one that does nothing. */
struct nature nature_of(const struct unit_table *t, u32 insn);
/* Only where it goes. */
enum goes nature_goes(const struct unit_table *t, u32 insn);

#endif
