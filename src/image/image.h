/* SPDX-License-Identifier: MIT */
/* What the code in a file means: functions from its symbols, source lines from its debug information, wherever libdw
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
void image_close(struct image *m);

#endif
