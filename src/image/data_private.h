/* SPDX-License-Identifier: MIT */
/* The data of a file, as this room's files share it. */
#ifndef DATA_PRIVATE_H
#define DATA_PRIVATE_H

#include "image/data.h"
#include "image/image_private.h"
#include "image/layouts.h"

/* A variable that is defined elsewhere, and what it is in. */
struct declared {
    const void *die;
    const char *scope;
};

struct image_data {
    struct image *image;
    u64 dwarf_bias;
    VEC(struct declared) declared; /* of the unit that is being read */
    VEC(struct datum) v, sections; /* ascending, without overlaps */
    struct layouts layouts;
    struct layouts of_locals; /* made when they are asked for, while the others are read */
    struct arena texts;
};

#endif
