/* SPDX-License-Identifier: MIT */
/* Types, as far as it matters where in a variable something is. Private to this room. */
#ifndef LAYOUTS_H
#define LAYOUTS_H

#include "base/arena.h"
#include "base/vec.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

/* An array has elements, a structure members; all else is one place. */
struct layout {
    u64 size;
    const char *type;
    u64 stride;       /* of an array's elements */
    u32 element;      /* their layout + 1; 0: it is no array of structures */
    u32 dimensions;
    u32 first, n;     /* members */
};

/* Of a structure: a base class, and what is in a structure without a name, are members without one. */
struct member {
    u64 offset, size;
    const char *name; /* "": none */
    u32 layout;
};

struct layouts {
    VEC(struct layout) v;
    VEC(struct member) members;
    VEC(const void *) dies; /* of each layout */
    VEC(u32) slots;         /* of a hash table of these: numbers + 1; 0: free */
    struct arena texts;
};

/* The layout of a type. */
u32 layout_of(struct layouts *l, Dwarf_Die *type);
/* The type of a variable, a member or another type; false if it has none. */
bool layout_type(Dwarf_Die *of, Dwarf_Die *type);
/* The place of an offset in a variable of this type; *before, *behind: how many bytes of it are before the offset, and from there on. */
u64 layout_place(const struct layouts *l, u32 layout, u64 offset, u64 *before, u64 *behind);
/* Append what a place in it is called; the type of that. */
const char *layout_name(const struct layouts *l, u32 layout, u64 place, char *text, size_t room);
void layouts_fini(struct layouts *l);

#endif
