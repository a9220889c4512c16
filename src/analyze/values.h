/* SPDX-License-Identifier: MIT */
/* Values of options that several analyses have. */
#ifndef VALUES_H
#define VALUES_H

#include "analyze/accesses.h"
#include "base/err.h"

/* Read a number, or one of K, M or G, and leave *text behind it; false if there is none. */
bool value_size(const char **text, u64 *size);
/* The same, of which nothing may be left, and which is a power of two. */
bool value_power_of_two(const char *text, u64 *n);
/* Which events; -1 with the rest of a sentence. */
int value_accessed(enum accessed *of, const char *text, struct err *e);

#endif
