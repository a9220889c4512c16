/* SPDX-License-Identifier: MIT */
/* What the code in a file means: functions and variables from its symbols, source lines from its debug information, wherever libdw
 * finds that: in the file, or apart from it by build id or link. */
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

/* Open the file at path, which had this build id (hexadecimal; "": not known) when it was mapped. If it cannot be used,
 * no place in it is known. */
struct image *image_open(const char *path, const char *build_id);
/* Why it cannot be used, as the rest of a sentence that begins with its path; NULL if it can. */
const char *image_trouble(const struct image *m);
/* The place at an offset in the file. */
struct image_place image_find(struct image *m, u64 offset);
/* A variable of the file: its name, and its bytes as image_variable() counts them. */
struct image_variable {
    const char *name; /* NULL: there is none */
    s64 start, end;
};
/* The first variable with a byte in from .. to - 1, which count from where the file's offset is mapped: a whole file is mapped
 * at one distance from what it says, so mapped code tells where data is. */
struct image_variable image_variable(struct image *m, u64 offset, s64 from, s64 to);
/* Tell of all functions whose name matches a shell's pattern, one name of each: where it stands in the file, and how long it is. */
typedef void image_sight(void *ctx, const char *name, u64 offset, u64 size);
void image_functions(struct image *m, const char *pattern, image_sight *see, void *ctx);
/* Tell of the code made from these lines of a source file, given by its path or the end of that. */
void image_lines(struct image *m, const char *file, u32 from, u32 to, image_sight *see, void *ctx);
void image_close(struct image *m);

#endif
