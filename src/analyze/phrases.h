/* SPDX-License-Identifier: MIT */
/* What was found in a stream, said to a programmer. */
#ifndef PHRASES_H
#define PHRASES_H

#include "analyze/findings.h"

#include <stdio.h>

/* "read with stride 8000 B, 1000 times, repeated 1000 times at +8 B: column walk of a row-major array". Type: as static_type has it. */
void phrase_print(FILE *f, const struct findings *x, u32 type);
/* The same of one descriptor. */
void phrase_print_one(FILE *f, const struct descriptor *d, u32 type);
/* "Read", "Write" or "Modify". */
const char *type_name(u32 type);

#endif
