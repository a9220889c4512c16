/* SPDX-License-Identifier: MIT */
/* The vector path of the decoder: one cache line per exit says how to decode its records. Private
 * to this room. */
#ifndef PLAN_H
#define PLAN_H

#include "decode/decode.h"

/* The most references that a record of a plan has, special forms apart. */
enum { RECORD_REFS = 256 };

struct plans *plans_new(void);
void plans_free(struct plans *p);

/* Make the plan of an exit at its first use. */
void plans_make(struct plans *p, const struct unit_table *t, u32 exit);
/* Decode records from `at` on; stops at the first that needs the careful path, and at the end of
 * data or batch. */
size_t plans_run(struct decoder *d, const u8 *data, size_t size, size_t at, struct batch *b);

/* decode.c: give out reference j of an exit of the unit with the first reference ref0, which is of a special form, and the one paired with
 * it. False if that would not fit: then nothing is. */
bool decode_special(struct decoder *d, struct batch *b, u32 ref0, u32 j, const u8 *slots);

#endif
