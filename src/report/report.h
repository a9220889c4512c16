/* SPDX-License-Identifier: MIT */
/* Results as people and programs read them. */
#ifndef REPORT_H
#define REPORT_H

#include "analyze/result.h"

#include <stdio.h>

/* The form of a report; of rows only the first `top`. */
void report_text(FILE *f, const struct result *r, size_t top);
/* One object on one line: facts are objects, other tables lists of objects. */
void report_json(FILE *f, const struct result *r, size_t top);
/* A line that names each table, a line with the columns' names, and a line for each row. */
void report_csv(FILE *f, const struct result *r, size_t top);

/* A text as JSON has it. Bytes that are not ASCII stand for themselves: file names and arguments have no known
 * encoding, and are nearly always UTF-8. */
void report_json_string(FILE *f, const char *s);

#endif
