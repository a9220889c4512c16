/* SPDX-License-Identifier: MIT */
/* What is in the lines that cores take from each other, as of when the first of them did. */
#ifndef LENT_H
#define LENT_H

#include "analyze/sharing.h"
#include "analyze/variables.h"

enum { LENT_NAMES = 8 };

struct lent_line {
    u64 line; /* as the shares have it */
    u32 n, number[LENT_NAMES];
};

struct lent {
    VEC(struct lent_line) v;
    size_t seen; /* shares */
};

/* Name what is in the lines that have come to the shares since the last time, of so many bytes, and be done with the work that they came with. What was
 * freed in it is known at its beginning, what was allocated in it at its end. */
void lent_name(struct lent *l, const struct sharing *s, struct variable_part *p, u64 length);
/* The same for lines of a process of which nothing is known yet, when all works were taken. */
void lent_name_late(struct lent *l, u32 process, struct variable_part *p, u64 length);
/* There are no more. */
void lent_sort(struct lent *l);
/* Then, the names of a line, for people, as far as there is room; NULL if nothing is known. */
const char *lent_text(const struct lent *l, u64 line, struct variables *v, char *text, size_t room);
void lent_fini(struct lent *l);

#endif
