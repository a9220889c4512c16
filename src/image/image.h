/* SPDX-License-Identifier: MIT */
/* What the code in a file means: functions from its symbols, source lines from its debug information, wherever libdw finds that: in the
 * file, or apart from it by build id or link. What its data is called: data.h. */
#ifndef IMAGE_H
#define IMAGE_H

#include "base/base.h"

struct image;

/* What is known of an instruction; texts live as long as the image. */
struct image_place {
    const char *function; /* NULL: not known */
    const char *file;     /* of the source, as the compiler was given it; NULL: not known */
    u32 line;
};

/* Open the file at path, which must stay, and which had this build id (hexadecimal; "": not known) when it was mapped. If it cannot be used,
 * no place in it is known. */
struct image *image_open(const char *path, const char *build_id);
/* Why it cannot be used, as the rest of a sentence that begins with its path; NULL if it can. */
const char *image_trouble(const struct image *m);
/* The place at an offset in the file. */
struct image_place image_find(struct image *m, u64 offset);
/* The same for an address of its program headers. */
struct image_place image_place(struct image *m, u64 address);
/* The addresses of its program headers, from the first to behind the last byte that is mapped; false if it cannot be used. */
bool image_span(const struct image *m, u64 *start, u64 *end);
/* The one of what stands at an offset of the file; false if that is not mapped. */
bool image_vaddr(const struct image *m, u64 offset, u64 *address);
/* Tell of all functions whose name matches a shell's pattern, one name of each: where it stands in the file, and how long it is. */
typedef void image_sight(void *ctx, const char *name, u64 offset, u64 size);
void image_match(struct image *m, const char *pattern, image_sight *see, void *ctx);
/* Tell of the code made from these lines of a source file, given by its path or the end of that. */
void image_lines(struct image *m, const char *file, u32 from, u32 to, image_sight *see, void *ctx);
void image_close(struct image *m);

#endif
