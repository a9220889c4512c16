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
/* The bytes that all of the file takes in memory, counted likewise; unchanged if it cannot be told. */
void image_extent(struct image *m, u64 offset, s64 *from, s64 *to);
void image_close(struct image *m);

#endif
