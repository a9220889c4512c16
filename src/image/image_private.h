/* SPDX-License-Identifier: MIT */
/* One file as this room's files share it. */
#ifndef IMAGE_PRIVATE_H
#define IMAGE_PRIVATE_H

#include "base/arena.h"
#include "base/vec.h"
#include "image/image.h"

#include <elfutils/libdwfl.h>

/* A function, or a label in code; or a variable: the module's addresses start .. end - 1. */
struct symbol {
    u64 start, end;
    const char *name;
    u32 rank;     /* of several names for one place, that with the least is used */
    bool is_open; /* it has no size */
};

struct image {
    Dwfl *dwfl;
    Dwfl_Module *module;
    Elf *elf;
    GElf_Addr bias;
    const char *path;
    const char *trouble;
    VEC(struct symbol) symbols;   /* ascending */
    VEC(struct symbol) variables; /* ascending */
    struct arena names;
    bool has_symbols; /* they were read */
    struct image_data *data; /* NULL: not asked for */
};

void image_read_symbols(struct image *m);
/* The module's address of what stands at an offset of the file; false if that is not mapped. */
bool image_address(const struct image *m, u64 offset, u64 *address);
void data_free(struct image_data *d);

#endif
