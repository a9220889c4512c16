/* SPDX-License-Identifier: MIT */
/* What one instruction touches, given its registers: the judge's reading of docs/events.md. */

/*
 * An instruction is decoded once into a `struct insn`; `insn_accesses` then turns the registers of
 * one execution into addresses. Nothing here is shared with src/: the judge must be able to
 * disagree with the accused.
 */
#ifndef ORACLE_ACCESSES_H
#define ORACLE_ACCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

enum {
    INSN_BYTES = 15,    /* the longest an x86 instruction can be */
    ACCESSES_MAX = 128, /* vpexpandb zmm: 64; enter n, 31: 30 loads and 32 stores */
    XSTATE_BYTES = 16384,
};

struct access {
    uint64_t addr;
    uint32_t size;
    char kind; /* 'L', 'S' or 'M' */
};

/* base + index * scale + disp, cut to 32 bits if the instruction says so, plus a segment base. */
struct place {
    uint8_t base;  /* index into user_regs_struct, or NO_REG */
    uint8_t index; /* the same */
    uint8_t scale;
    uint8_t segment; /* index of fs_base or gs_base in user_regs_struct, or NO_REG */
    bool is_32;
    int64_t disp; /* already holds the pc of a rip-relative operand */
};

struct touch {
    struct place at;
    uint32_t size;
    char kind;
};

/* How the touches of an instruction become accesses. */
enum shape {
    EACH,        /* every touch is one access */
    STRING,      /* every touch is one access of each iteration */
    BIT_STRING,  /* bt m, r: the register moves the address */
    TABLE_BYTE,  /* xlat: al moves the address */
    FRAME,       /* enter */
    BYTE_MASK,   /* maskmovq, maskmovdqu: a byte for each sign bit of a vector */
    SIGN_MASK,   /* vmaskmov, vpmaskmov: an element for each sign bit of a vector */
    BIT_MASK,    /* AVX-512: an element for each bit of a k register */
    PACKED,      /* compress, expand: as many elements as there are bits, side by side */
    ANY_BIT,     /* broadcast: one access if any bit of a k register is set */
    VECTOR,      /* gather, scatter: the addresses are a vector */
    SAVE_AREA,   /* xsave, xsaveopt */
    SAVE_PACKED, /* xsavec */
    LOAD_AREA,   /* xrstor */
    LINE,        /* clzero: the whole cache line of an address */
};

struct insn {
    uint64_t pc;
    uint8_t bytes[INSN_BYTES];
    uint8_t length; /* 0: this entry is empty */
    enum shape shape;
    uint8_t n_touches;
    struct touch touch[2]; /* in the order of docs/events.md */

    bool is_repeated; /* rep string */
    bool is_syscall;  /* keeps its line if the program ends inside it */
    bool is_trap;     /* int3 and its like: the SIGTRAP that follows is the program's own */
    /*
     * A single step would go wrong: pushf stores the stepper's trap flag, popf makes the kernel
     * forget whose it is, the trap after a load of ss is held back for one instruction, and sgdt
     * and its like are emulated by the kernel (UMIP), which returns to the instruction after.
     */
    bool is_unsteppable;

    uint8_t selector;     /* BIT_STRING: index of the bit offset register; FRAME: the level */
    uint8_t mask;         /* number of the k or vector register that masks */
    bool mask_is_vector;  /* VECTOR: a vector register (AVX2) and not a k register masks */
    uint8_t count;        /* elements at most */
    uint8_t element;      /* their size in bytes */
    uint8_t index_vector; /* VECTOR: number of the index register */
    uint8_t index_size;   /* VECTOR: 4 or 8 bytes */
};

/* The registers before an instruction. The vector state is fetched only when one needs it. */
struct machine {
    pid_t pid;
    struct user_regs_struct regs;
    bool has_xstate;
    uint8_t xstate[XSTATE_BYTES];
};

/* Find out where CPUID says the vector registers are kept. */
void accesses_init(void);

/* Decode; returns NULL, or a sentence saying why this instruction cannot be judged. */
const char *insn_decode(struct insn *in, uint64_t pc, const uint8_t *bytes, unsigned n);

/* List what the instruction (one iteration of it, if repeated) will touch; returns how many. */
unsigned insn_accesses(const struct insn *in, struct machine *m, struct access *out);

#endif
