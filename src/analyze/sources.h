/* SPDX-License-Identifier: MIT */
/* Where in a program an address of a process is: module, function, source line. */
#ifndef SOURCES_H
#define SOURCES_H

#include "base/vec.h"
#include "decode/trace.h"
#include "image/image.h"

/* A file that modules were mapped from. */
struct source_file {
    const char *path, *build_id; /* the module's */
    struct image *image;
};

struct sources {
    const struct trace_module *modules; /* in the order of time */
    size_t n_modules;
    VEC(struct source_file) files;
};

struct source {
    const struct trace_module *module; /* NULL: none is known there */
    u64 offset; /* in the module's file; the address itself where there is no module */
    struct image_place at;
    u64 beginning; /* of its function, where that has no name: an offset as well, */
    bool has_beginning; /* if it is known */
};

void sources_init(struct sources *p, const struct trace_module *modules, size_t n);
/* The place of an address in a process that has a memory of its own. Where modules of different times overlap, the
 * latest is taken. */
struct source sources_find(struct sources *p, u32 process, u64 address);
/* The file that this address is in, and where; NULL if it is in none. */
struct image *sources_image(struct sources *p, u32 process, u64 address, u64 *offset);
void sources_fini(struct sources *p);

/* The last part of a path. */
const char *source_name(const char *path);

#endif
