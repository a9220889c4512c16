/* SPDX-License-Identifier: MIT */
/* The static references of a program: an instruction's first reference, its second. The unit table has them once for each path that
 * leads through the instruction; here each has one number. */
#ifndef STATICS_H
#define STATICS_H

#include "base/vec.h"
#include "decode/decode.h"

#include <pthread.h>

struct static_ref {
    u64 pc;
    u32 operand; /* which of its instruction's references */
    u32 type;    /* as below */
};

/* What a reference does: with how many bytes, and an enum ref_kind. */
static inline u32 static_type(u32 size, u32 kind)
{
    return size << 2 | kind;
}
static inline u32 type_size(u32 type)
{
    return type >> 2;
}
static inline u32 type_kind(u32 type)
{
    return type & 3;
}

/* Which static reference one of the table is. */
struct static_use {
    u32 number, type;
};

struct statics {
    const struct unit_table *table; /* it grows */
    pthread_mutex_t lock;           /* guards all below */
    u32 n_units;                    /* that have been looked at */
    VEC(struct static_use) uses;    /* by number in the table */
    VEC(struct static_ref) refs;    /* by our number */
    VEC(u32) slots;                 /* of a hash table: such a number + 1 */
};

struct static_uses {
    VEC(struct static_use) of; /* by number in the table */
};

void statics_init(struct statics *s, const struct unit_table *table);
/* Bring a copy up to date: whoever reads many references has one, and needs no lock. */
void statics_copy(struct statics *s, struct static_uses *to);
/* One that has another size at run time. */
struct static_use statics_sized(struct statics *s, u32 ref, u32 size);
void statics_fini(struct statics *s);

#endif
