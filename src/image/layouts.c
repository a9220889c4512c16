/* SPDX-License-Identifier: MIT */
/* Layouts from DWARF, each type once. What a file says of types may be nonsense: it is never followed without end. */
#include "image/layouts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NESTING = 24, TYPE_ROOM = 200, MEMBERS = 1 << 16 };

bool layout_type(Dwarf_Die *of, Dwarf_Die *type)
{
    Dwarf_Attribute a;
    return dwarf_attr_integrate(of, DW_AT_type, &a) && dwarf_formref_die(&a, type);
}

static u64 number_of(Dwarf_Die *d, unsigned name, u64 otherwise)
{
    Dwarf_Attribute a;
    Dwarf_Word x;
    return dwarf_attr_integrate(d, name, &a) && !dwarf_formudata(&a, &x) ? x : otherwise;
}

static const char *keep(struct layouts *l, const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(arena_alloc(&l->texts, n), text, n);
}

/* -- Types as text ----------------------------------------------------------------------------- */

static void append(char *text, const char *more)
{
    size_t n = strlen(text);
    snprintf(text + n, TYPE_ROOM - n, "%s", more);
}

/* Behind the elements' type: how many there are, in each dimension. */
static void append_counts(char *text, Dwarf_Die *array)
{
    Dwarf_Die child;
    for (int r = dwarf_child(array, &child); r == 0; r = dwarf_siblingof(&child, &child)) {
        char count[32] = "[]";
        u64 last = number_of(&child, DW_AT_upper_bound, UINT64_MAX);
        u64 n = number_of(&child, DW_AT_count, last + 1);
        if (dwarf_tag(&child) != DW_TAG_subrange_type)
            continue;
        if (n)
            snprintf(count, sizeof count, "[%llu]", (unsigned long long)n);
        append(text, count);
    }
}

static void append_named(char *text, const char *before, Dwarf_Die *type)
{
    const char *name = dwarf_diename(type);
    append(text, before);
    append(text, name ? name : "{...}");
}

/* Without const and the like, which say nothing of where things are. */
static void append_type(char *text, Dwarf_Die *type, u32 depth)
{
    Dwarf_Die inner;
    const int tag = dwarf_tag(type);
    const bool has = layout_type(type, &inner);
    switch (depth < NESTING ? tag : 0) {
    case DW_TAG_structure_type:
        append_named(text, "struct ", type);
        return;
    case DW_TAG_union_type:
        append_named(text, "union ", type);
        return;
    case DW_TAG_enumeration_type:
        append_named(text, "enum ", type);
        return;
    case DW_TAG_subroutine_type:
        append(text, "function");
        return;
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
    case DW_TAG_array_type:
        break;
    default:
        append_named(text, "", type);
        return;
    }
    if (has)
        append_type(text, &inner, depth + 1);
    else
        append(text, "void");
    if (tag == DW_TAG_pointer_type)
        append(text, " *");
    else if (tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type)
        append(text, " &");
    else if (tag == DW_TAG_array_type)
        append_counts(text, type);
}

/* -- Making ------------------------------------------------------------------------------------ */

static u32 make(struct layouts *l, Dwarf_Die *type, u32 depth);

/* What a type is, without other names for it. */
static void peel(Dwarf_Die *type)
{
    for (u32 i = 0; i < NESTING; i++) {
        switch (dwarf_tag(type)) {
        case DW_TAG_typedef:
        case DW_TAG_const_type:
        case DW_TAG_volatile_type:
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type:
            if (layout_type(type, type))
                continue;
        }
        return;
    }
}

static bool is_structure(const struct layouts *l, u32 layout)
{
    return l->v.v[layout].n || l->v.v[layout].element;
}

static void add_array(struct layouts *l, u32 layout, Dwarf_Die *type, u32 depth)
{
    Dwarf_Die element, child;
    Dwarf_Word size;
    u32 dimensions = 0;
    if (!layout_type(type, &element) || dwarf_aggregate_size(&element, &size) || !size)
        return;
    const u32 of = make(l, &element, depth + 1);
    for (int r = dwarf_child(type, &child); r == 0; r = dwarf_siblingof(&child, &child))
        dimensions += dwarf_tag(&child) == DW_TAG_subrange_type;
    l->v.v[layout].stride = number_of(type, DW_AT_byte_stride, size);
    l->v.v[layout].dimensions = dimensions;
    l->v.v[layout].element = is_structure(l, of) && l->v.v[layout].stride ? of + 1 : 0;
}

static bool make_member(struct layouts *l, Dwarf_Die *die, u32 depth, struct member *x)
{
    Dwarf_Die type;
    Dwarf_Word size;
    const int tag = dwarf_tag(die);
    if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || dwarf_hasattr(die, DW_AT_external) ||
        !layout_type(die, &type) || dwarf_aggregate_size(&type, &size))
        return false;
    const char *name = dwarf_diename(die);
    x->offset = number_of(die, DW_AT_data_member_location, number_of(die, DW_AT_data_bit_offset, 0) / 8);
    x->size = size;
    x->name = keep(l, name && tag == DW_TAG_member ? name : "");
    x->layout = make(l, &type, depth + 1);
    return true;
}

static int by_offset(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Of a union only the first member is taken. */
static void add_members(struct layouts *l, u32 layout, Dwarf_Die *type, u32 depth)
{
    VEC(struct member) own = {0};
    Dwarf_Die child;
    for (int r = dwarf_child(type, &child); r == 0; r = dwarf_siblingof(&child, &child)) {
        struct member x;
        if (own.n < MEMBERS && make_member(l, &child, depth, &x))
            vec_push(&own, x);
        if (own.n && dwarf_tag(type) == DW_TAG_union_type)
            break;
    }
    if (own.n)
        qsort(own.v, own.n, sizeof *own.v, by_offset);
    l->v.v[layout].first = (u32)l->members.n;
    l->v.v[layout].n = (u32)own.n;
    if (own.n)
        memcpy(vec_grow(&l->members, own.n), own.v, own.n * sizeof *own.v);
    vec_fini(&own);
}

static u32 *slot_of(struct layouts *l, const void *die)
{
    u64 i = (u64)(uintptr_t)die * 0x9e3779b97f4a7c15ull >> 20;
    for (;; i++) {
        u32 *slot = &l->slots.v[i & (l->slots.n - 1)];
        if (!*slot || l->dies.v[*slot - 1] == die)
            return slot;
    }
}

static void rehash(struct layouts *l)
{
    size_t n = MAX(2 * l->slots.n, 256ul);
    l->slots.n = 0;
    memset(vec_grow(&l->slots, n), 0, n * sizeof *l->slots.v);
    for (u32 i = 0; i < l->dies.n; i++)
        *slot_of(l, l->dies.v[i]) = i + 1;
}

static u32 make(struct layouts *l, Dwarf_Die *type, u32 depth)
{
    char text[TYPE_ROOM] = "";
    Dwarf_Die real = *type;
    Dwarf_Word size;
    if (2 * l->dies.n >= l->slots.n)
        rehash(l);
    u32 *slot = slot_of(l, type->addr);
    if (*slot)
        return *slot - 1;
    const u32 layout = (u32)l->v.n;
    *slot = layout + 1;
    append_type(text, type, 0);
    vec_push(&l->dies, type->addr);
    vec_push(&l->v, ((struct layout){.size = dwarf_aggregate_size(type, &size) ? 0 : size,
                                     .type = keep(l, text)}));
    peel(&real);
    if (depth >= NESTING)
        return layout;
    switch (dwarf_tag(&real)) {
    case DW_TAG_array_type:
        add_array(l, layout, &real, depth);
        break;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        add_members(l, layout, &real, depth);
    }
    return layout;
}

u32 layout_of(struct layouts *l, Dwarf_Die *type)
{
    return make(l, type, 0);
}

void layouts_fini(struct layouts *l)
{
    vec_fini(&l->v);
    vec_fini(&l->members);
    vec_fini(&l->dies);
    vec_fini(&l->slots);
    arena_fini(&l->texts);
}

/* -- Places ------------------------------------------------------------------------------------ */

/* The member around an offset, or NULL. */
static const struct member *member_at(const struct layouts *l, const struct layout *x, u64 offset)
{
    for (u32 i = x->n; i-- > 0;) {
        const struct member *m = &l->members.v[x->first + i];
        if (offset >= m->offset && offset - m->offset < m->size)
            return m;
    }
    return NULL;
}

u64 layout_place(const struct layouts *l, u32 layout, u64 offset, u64 *before, u64 *behind)
{
    u64 place = 0;
    for (u32 depth = 0; depth < NESTING; depth++) {
        const struct layout *x = &l->v.v[layout];
        const struct member *m = x->n ? member_at(l, x, offset) : NULL;
        if (x->element) {
            offset %= x->stride;
            layout = x->element - 1;
        } else if (m) {
            place += m->offset;
            offset -= m->offset;
            layout = m->layout;
        } else if (x->n) { /* behind a member there may be room that is nobody's */
            break;
        } else {
            *before = offset;
            *behind = x->size > offset ? x->size - offset : 1;
            return place;
        }
    }
    *before = 0;
    *behind = 1;
    return place + offset;
}

const char *layout_name(const struct layouts *l, u32 layout, u64 place, char *text, size_t room)
{
    size_t n = strlen(text);
    for (u32 depth = 0; depth < NESTING; depth++) {
        const struct layout *x = &l->v.v[layout];
        const struct member *m = x->n ? member_at(l, x, place) : NULL;
        if (x->element) {
            for (u32 i = 0; i < x->dimensions && n < room; i++)
                n += (size_t)snprintf(text + n, room - n, "[..]");
            layout = x->element - 1;
        } else if (m) {
            if (m->name[0] && n < room)
                n += (size_t)snprintf(text + n, room - n, ".%s", m->name);
            place -= m->offset;
            layout = m->layout;
        } else {
            break;
        }
    }
    return l->v.v[layout].type;
}
