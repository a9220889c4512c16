/* SPDX-License-Identifier: MIT */
/* The unit table as columns: one for each field of decode/fields.def. */
#include "decode/units.h"
#include "store/column.h"

#include <stdlib.h>
#include <string.h>

/* Where a field is in the elements of its array. */
struct field {
    size_t stride, offset, size;
    bool steps;
};

struct units_lengths units_lengths(const struct unit_table *t)
{
    return (struct units_lengths){(u32)t->units.n, (u32)t->insns.n, (u32)t->refs.n, (u32)t->exits.n,
                                  (u32)t->code.n};
}

bool units_equal(struct units_lengths a, struct units_lengths b)
{
    return a.units == b.units && a.insns == b.insns && a.refs == b.refs && a.exits == b.exits &&
           a.code == b.code;
}

u64 units_size(struct units_lengths n)
{
    return (u64)n.units * sizeof(struct unit) + (u64)n.insns * sizeof(struct unit_insn) +
           (u64)n.refs * sizeof(struct ref) + (u64)n.exits * sizeof(struct unit_exit) + n.code;
}

/* A field as a number: signed ones are kept as 64 bits already, so widening with zeros loses nothing. */
static u64 get_field(const u8 *element, const struct field *f)
{
    u64 x = 0;
    memcpy(&x, element + f->offset, f->size);
    return x;
}

static bool set_field(u8 *element, const struct field *f, u64 x)
{
    memcpy(element + f->offset, &x, f->size);
    return f->size == 8 || x >> 8 * f->size == 0;
}

static void store_field(const u8 *elements, u32 n, struct field f, struct store_bytes *to)
{
    struct columns shared = {0};
    struct column c = {0};
    for (u32 i = 0; i < n; i++)
        (f.steps ? column_put : column_put_plain)(&shared, &c,
                                                  get_field(elements + i * f.stride, &f));
    column_store_sized(&shared, &c, to);
    columns_fini(&shared);
}

void units_store(const struct unit_table *t, struct units_lengths from, struct units_lengths n,
                 struct store_bytes *to)
{
#define FIELD(array, type, name, by_steps)                                       \
    store_field(n.array ? (const u8 *)(t->array.v + from.array) : NULL, n.array, \
                (struct field){.stride = sizeof(struct type),                    \
                               .offset = offsetof(struct type, name),            \
                               .size = sizeof(((struct type *)0)->name),         \
                               .steps = by_steps},                               \
                to);
#define VALUE FIELD
#include "decode/fields.def"
#undef VALUE
#undef FIELD
    if (n.code)
        memcpy(vec_grow(to, n.code), t->code.v + from.code, n.code);
}

static bool read_field(u8 *elements, u32 n, struct field f, const u8 **at, const u8 *end)
{
    struct column_reader r;
    struct arena a = {0};
    u64 x;
    bool good = column_reader_sized(&r, at, end, !f.steps);
    if (!good)
        return false;
    for (u32 i = 0; i < n && good; i++)
        good = column_get(&r, &a, &x) && set_field(elements + i * f.stride, &f, x);
    good = good && column_is_spent(&r);
    arena_fini(&a);
    return good;
}

#define GROW(array) \
    if (n.array)    \
    memset(vec_grow(&t->array, n.array), 0, n.array * sizeof *t->array.v)

const char *units_read(struct unit_table *t, struct units_lengths n, bool values, const u8 *bytes, size_t size)
{
    const u8 *at = bytes, *end = bytes + size;
    struct units_lengths from = units_lengths(t);
    GROW(units);
    GROW(insns);
    GROW(refs);
    GROW(exits);
    GROW(code);
#define FIELD(array, type, name, by_steps)                                     \
    if (!read_field(n.array ? (u8 *)(t->array.v + from.array) : NULL, n.array, \
                    (struct field){.stride = sizeof(struct type),              \
                                   .offset = offsetof(struct type, name),      \
                                   .size = sizeof(((struct type *)0)->name),   \
                                   .steps = by_steps},                         \
                    &at, end))                                                 \
        return "has a bad column for " #name " of its " #array;
#define VALUE(array, type, name, by_steps) \
    if (values) {                          \
        FIELD(array, type, name, by_steps) \
    }
#include "decode/fields.def"
#undef VALUE
#undef FIELD
    if ((size_t)(end - at) != n.code)
        return "does not have the code that its head says";
    if (n.code)
        memcpy(t->code.v + from.code, at, n.code);
    return NULL;
}
