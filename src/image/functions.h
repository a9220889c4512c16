/* SPDX-License-Identifier: MIT */
/* The functions that a file names. */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

#include "base/base.h"

/* Tell of every function that a symbol of the file names, and where its code stands in the file; some more than once. A file that is no
 * ELF file names none. */
void image_functions(const char *path, void (*each)(void *ctx, const char *name, u64 offset),
                     void *ctx);

#endif
