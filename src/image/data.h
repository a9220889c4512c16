/* SPDX-License-Identifier: MIT */
/* What the data of a file is called: variables, and what is inside them. Addresses are those of the file's program headers.
 *
 * A place in a variable stands for all that differ from it by indices of arrays only: what is meant is grid[..].next, not grid[5].next. */
#ifndef DATA_H
#define DATA_H

#include "base/base.h"
#include "image/image.h"

struct image_data;

/* A variable; where nothing better is known, a section. Texts live as long as the data. */
struct datum {
    u64 start, end;
    const char *name; /* of a static one in a function: FUNCTION::NAME; of a section: that of the file, and the section's */
    const char *type; /* NULL: not known, as all that follows */
    const char *file;
    u32 line;
    bool is_section;
    u32 layout; /* private */
};

/* Of a file that can be used; NULL if it cannot. It lives as long as the image. */
struct image_data *image_data(struct image *m);
/* The variable at an address: its number, or -1. */
s64 data_find(const struct image_data *d, u64 address);
const struct datum *data_get(const struct image_data *d, u32 number);
/* The place of an offset in it: the offset of the first element's of all arrays around it; *before, *behind: how many
 * bytes of it are before the offset, and from there on. */
u64 data_place(const struct image_data *d, u32 number, u64 offset, u64 *before, u64 *behind);
/* What a place is called, and of which type it is (NULL: not known), cut to the room there is. */
const char *data_name(const struct image_data *d, u32 number, u64 place, char *text, size_t room);

/* Where a function keeps things while it is at an instruction. */
struct image_frame {
    u8 reg;     /* of the processor, as DWARF counts: 6 rbp, 7 rsp */
    s64 offset; /* the CFA, where the caller's frame ends, is that register + this */
};
bool data_frame(struct image_data *d, u64 pc, struct image_frame *f);
/* The variable of the function at pc that is so far from the CFA, and from where to where that is, counted in the same way; false if none is known. */
bool data_local(struct image_data *d, u64 pc, s64 from_cfa, char *text, size_t room, s64 *start, s64 *end);

#endif
