/* SPDX-License-Identifier: MIT */
/* What a processor's caches see of the events: every line of code and of data that is touched, in the order of the program.
 *
 * A touch of the line that was the last one touched in its set is left out: it hits, and changes no cache that keeps the latest line
 * of a set as such. So there are far fewer touches than references and instructions. */
#ifndef TOUCHES_H
#define TOUCHES_H

#include "analyze/passes.h"
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

/* Which line was touched last, for each set of a cache, or for some sets together. */
enum { FILTER_LIMIT = 1024 };
struct touch_filter {
    u64 line[FILTER_LIMIT];
    u64 mask;
    u32 log2; /* of a line's size */
};

/* One producer of touches, of one unit table. */
struct touches {
    const struct unit_table *table;
    struct touch_filter code, data;
    VEC(struct touch) list; /* in order; taken and emptied by the consumer */
    VEC(struct touch_script) scripts; /* by exit */
    VEC(struct touch_step) steps;
    struct passes passes;
    VEC(u64) refs; /* by number in the table: what passes do not tell, of partial records and special forms */
};

/* For caches of so many sets, with lines of so many bytes, a power of two. */
struct touch_sets {
    u64 sets;
    u32 line;
};
void touches_init(struct touches *t, const struct unit_table *table, struct touch_sets code,
                  struct touch_sets data);
void touches_fini(struct touches *t);
/* Nothing is known of what came before: another buffer follows. */
void touches_reset(struct touches *t);
void touches_add(struct touches *t, const struct events *e);
/* How often each instruction ran and each reference was made: add to arrays as long as the table's. */
void touches_counts(const struct touches *t, u64 *insns, u64 *refs);

#endif
