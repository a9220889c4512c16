/* SPDX-License-Identifier: MIT */
/* What the instructions up to an exit do to frames: where they call, return and jump to, and the stack pointer behind each of these.
 *
 * The table names the stack pointer only behind an exit. In between it follows from references through it and from the instructions that
 * change it by a constant, forwards and backwards; where neither helps (two changes of another kind, and no reference through it between
 * them) it is not known, and jumps there are not seen. */
#ifndef STACKSTEPS_H
#define STACKSTEPS_H

#include "decode/decode.h"

enum {
    STACK_FAR = 4096, /* bytes that a conditional jump leads away, or more */
    STACK_PAGES = 1 << 12,
    STACK_PAGE_EXITS = 1 << 12,
};

struct stack_counts {
    u64 insns, reads, writes; /* a reference that reads and writes is a read */
};

/* One call, return or jump. A conditional jump is one only if it leads far away: those are loops and the like, and no tail calls. */
struct stack_step {
    u64 to;                     /* where it leads; 0: that is known only at run time */
    u64 disp;                   /* the stack pointer behind it is term + disp */
    struct stack_counts counts; /* what there is behind the step before, up to this one; references only if `plain` */
    u32 end;                    /* instructions of the unit up to it, itself included */
    u8 term;
    bool is_call;
};

/* What an exit stands for. */
struct stack_script {
    struct stack_counts rest; /* behind the last step */
    bool plain;               /* each reference is made once */
    u32 n;
    struct stack_step step[];
};

/* The scripts of a unit table; several threads may ask for them. */
struct stack_scripts {
    const struct unit_table *table;
    struct stack_script **pages[STACK_PAGES]; /* atomic */
};

void stack_scripts_init(struct stack_scripts *s, const struct unit_table *t);
/* Of an exit of the table. */
const struct stack_script *stack_script(struct stack_scripts *s, u32 exit);
/* Of the first instructions of a unit that was left in its middle with so many slots, and the stack pointer behind them; to be freed. */
struct stack_script *stack_script_partial(const struct unit_table *t, u32 unit, u32 insns, u8 slots);
void stack_scripts_fini(struct stack_scripts *s);

#endif
