/* SPDX-License-Identifier: MIT */
/* What a processor's caches see of the events: every line of code and of data that is touched, in the order of the program.
 *
 * A touch of the line that the one before it of the same kind touched is left out: it hits, and changes no cache that keeps the latest
 * line as such. So there are about half as many touches as references, and far fewer than instructions. */
#ifndef TOUCHES_H
#define TOUCHES_H

#include "base/vec.h"
#include "decode/decode.h"

/* The first and last byte decide which lines: id is a reference of the unit table, or, with TOUCH_CODE, an instruction of it. */
struct touch {
    u64 address;
    u32 id, size;
};
#define TOUCH_CODE 0x80000000u

/* What a record of an exit touches, in order: an instruction that is not in the same line as the one before it, or a reference, whose
 * address is the record's. */
struct touch_step {
    u64 pc; /* 0: a reference */
    u32 id, size;
};

/* The steps of an exit; only of one that was seen, and has no references of special forms: these have as many events as it
 * happens. */
struct touch_script {
    u32 first, n;
    bool known, plain;
};

/* One producer of touches, of one unit table. */
struct touches {
    const struct unit_table *table;
    u32 code_log2, data_log2; /* sizes of a line of code and of data */
    u64 code_line, data_line; /* touched last */
    u32 shown;                /* instructions of an unfinished record that were seen to */
    VEC(struct touch) list;   /* in order; taken and emptied by the consumer */
    VEC(struct touch_script) scripts; /* by exit */
    VEC(struct touch_step) steps;
    VEC(u64) executed;    /* by exit: how often it was passed */
    VEC(u64) insns, refs; /* by number in the table: what executed does not tell, of partial records and special forms */
    u64 instructions, loads, stores, modifies;
};

void touches_init(struct touches *t, const struct unit_table *table, u32 code_line, u32 data_line);
void touches_fini(struct touches *t);
/* Nothing is known of what came before: another buffer follows. */
void touches_reset(struct touches *t);
/* Add a batch that was decoded from `records`. It may begin with the rest of the last batch's last record, and end with one that
 * goes on in the next. */
void touches_add(struct touches *t, const struct batch *b, const u8 *records, bool continues,
                 bool unfinished);
/* How often each instruction ran and each reference was made: add to arrays as long as the table's. */
void touches_counts(const struct touches *t, u64 *insns, u64 *refs);

#endif
