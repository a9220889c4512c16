/* SPDX-License-Identifier: MIT */
/* The control flow of records: which basic blocks begin in them, how their branches went, which registers they need.
 *
 * A basic block begins where a thread begins, behind every branch, call, return and system call, taken or not, and
 * where a signal's handler begins or returns to; it ends with the next of these. So blocks are those of the
 * instructions that ran, in order, however these were cut into units. */
#ifndef FLOW_H
#define FLOW_H

#include "base/vec.h"
#include "decode/walk.h"

/* How the instructions of a record end. */
enum flow_end {
    FLOW_ON,       /* in no branch: what follows is of the same block */
    FLOW_DIRECT,   /* a jump or call to a fixed place */
    FLOW_COND,     /* a conditional branch */
    FLOW_INDIRECT, /* a jump, call or return to any place */
    FLOW_KERNEL,   /* a system call */
};

/* The first instructions of a unit. Registers are masks of 16 bits. */
struct flow_path {
    u32 starts,
        n_starts; /* in flow.starts: where blocks begin; the first is the unit's first instruction, and
                                 begins one if no block is open */
    u32 outcomes,
        n_outcomes; /* in flow.outcomes: of each conditional branch but the last, taken or not */
    u8 end;         /* enum flow_end */
    bool taken;     /* the conditional branch it ends with */
    bool known;     /* it was made */
    u16 needs;      /* registers in addresses before they are changed */
    u16 recorded, updated; /* last seen in an address; last changed */
    u32 values; /* registers in addresses that were changed here since they were in one */
};

struct flow_insn {
    u16 uses, changes; /* registers: of its addresses; that it changes */
    u8 end;
};

/* A unit's part of starts and outcomes. */
struct flow_unit {
    u32 starts, n_starts;
    u32 outcomes;
    bool known;
};

/* The blocks of one unit table. */
struct flow {
    const struct unit_table *table;
    u32 *n_blocks;           /* how many blocks were numbered, in this table or others */
    struct flow_insn *insns; /* as the table's, of the units that are known */
    struct flow_unit *units;
    struct flow_path *exits;
    u32 *numbers;    /* of the block that begins at an instruction, + 1; 0: none yet */
    VEC(u32) starts; /* instructions of the table */
    VEC(u8) outcomes;
    struct flow_block *blocks; /* by the hash of the pc */
    u32 blocks_mask, blocks_used;
};

/* The table must stay as it is. */
void flow_init(struct flow *f, const struct unit_table *t, u32 *n_blocks);
void flow_fini(struct flow *f);

/* What record i of the walk did, which ran (walk_ran). */
struct flow_path flow_of(struct flow *f, const struct walk *w, u32 i);
/* The number of the block that begins at an instruction of the table: 0 for the first that was asked for, and so on. */
u32 flow_block(struct flow *f, u32 insn);

#endif
