/* SPDX-License-Identifier: MIT */
/* One decoded instruction: what it is, which registers and flags it uses, what memory it touches.
 */
#ifndef INSN_H
#define INSN_H

#include "base/base.h"
#include "translate/unit.h"

#include <Zydis/Zydis.h>

enum insn_class {
    INSN_PLAIN,    /* goes on to the next instruction; copied or rewritten */
    INSN_JMP,      /* direct */
    INSN_JCC,      /* conditional on flags */
    INSN_JCX,      /* loop, loope, loopne, jrcxz, jecxz: conditional on rcx, 8-bit reach only */
    INSN_CALL,     /* direct */
    INSN_JMP_IND,  /* through a register or memory */
    INSN_CALL_IND, /* through a register or memory */
    INSN_RET,
    INSN_SYSCALL,
    INSN_STATE, /* changes what the decoder carries besides rsp (a segment base): needs a state
                   record after it */
    INSN_TRAP,  /* always or nearly always faults: run as the last of its unit */
    INSN_REFUSED,
};

/* The six arithmetic flags as a small mask, in the upper half of a `live` mask whose lower half is
 * the registers. */
enum {
    FLAG_CF = 1,
    FLAG_PF = 2,
    FLAG_AF = 4,
    FLAG_ZF = 8,
    FLAG_SF = 16,
    FLAG_OF = 32,
    FLAGS_ALL = 63
};
#define LIVE_FLAGS  (FLAGS_ALL << 16)
#define LIVE_ALL    (LIVE_FLAGS | 0xffff)
#define LIVE_REG(r) (1u << (r))

#define REG_NONE 255

/* One access as the instruction's operands state it, before symbolic execution. Registers are those
 * before the instruction; stack operands are already relative to the old rsp. */
struct access {
    s64 disp;
    u32 size;
    u8 base, index, shift; /* register numbers or REG_NONE */
    u8 seg;                /* TERM_NONE, TERM_FS, TERM_GS */
    u8 kind, op, flags;
    u8 count, width;
    u8 bit_reg;               /* bt m,r: the bit offset; xlat: rax; else REG_NONE */
    ZydisRegister mask, vsib; /* mask register (k or vector) and index vector, or NONE */
};
enum { ACCESS_LIMIT = 66 }; /* enter with 31 levels */

struct insn {
    u64 pc;
    u64 target; /* of a direct branch */
    u8 len, class;
    bool is_rep; /* a string instruction with rep */
    u32 reads;   /* live mask: registers and flags whose old value matters */
    u32 writes;  /* live mask: registers and flags that are surely and wholly overwritten */
    u32 changes; /* registers that may be changed in any way */
    u32 names;   /* registers named at all, implicit ones included */
    u8 bytes[ZYDIS_MAX_INSTRUCTION_LENGTH + 1];
    ZydisDecodedInstruction z;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

/* Decode one instruction; false if the bytes are not one. `size` bytes are readable at `bytes`. */
bool insn_decode(struct insn *in, u64 pc, const u8 *bytes, size_t size);
/* The same instruction; operands beyond those it has are not copied. */
void insn_copy(struct insn *to, const struct insn *from);
/* Make it another instruction, of the same opcode and operands but for the numbers in it: displacement and immediates. */
void insn_renew(struct insn *in, u64 pc, const u8 *bytes);
/* List what it touches, loads and modifies before stores; returns the count, or -1 if this version
 * does not know. */
int insn_accesses(const struct insn *in, struct access out[ACCESS_LIMIT]);
/* How far a push, a pop, a call or a return moves rsp; 0 for all others. */
s64 insn_stack_step(const struct insn *in);
/* The number 0..15 of a general register of any width, or REG_NONE. */
u8 insn_gpr(ZydisRegister r);

#endif
