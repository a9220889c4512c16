/* SPDX-License-Identifier: MIT */
/* From a frame to that of its caller, by what the compiler says of its code (.eh_frame). */
#ifndef UNWIND_H
#define UNWIND_H

#include "image/image.h"

enum { UNWIND_REGS = 16, UNWIND_RBP = 6, UNWIND_RSP = 7 }; /* by their numbers in DWARF */

struct unwound {
    u64 pc;
    u64 reg[UNWIND_REGS];
    u32 known;      /* bit i: reg[i] is */
};

/* The 8 bytes at an address of the program; false if they are not known. */
typedef bool unwind_read(void *ctx, u64 address, u64 *value);

/* The caller of what stands at an offset in the file. Its stack pointer, behind the return address, is known, if anything is: false if nothing is. With
 * pc 0 there is no caller. */
bool image_unwind(struct image *m, u64 offset, struct unwound *x, unwind_read *read, void *ctx);

/* How far behind the beginning of its function what stands at an offset is; false if that is not known. */
bool image_way_in(const struct image *m, u64 offset, u64 *way);

/* Does a program begin there, or a few instructions before? Nobody has called that code, even if it does not say so itself. */
bool image_is_entry(const struct image *m, u64 offset);

#endif
