/* SPDX-License-Identifier: MIT */
/* The variables of a file: what its debug information says; then those that only symbols tell of; then sections. */
#include "image/data_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 256, NESTING = 64 };

/* -- Variables by DWARF ------------------------------------------------------------------------ */

/* The module's addresses, less the bias, are those of its program headers. */
static u64 own_address(const struct image_data *d, u64 of_dwarf)
{
    return of_dwarf + d->dwarf_bias - d->image->bias;
}

/* Where a variable is all the time; false if it is not. */
static bool static_address(Dwarf_Die *die, u64 *address)
{
    Dwarf_Attribute a, addr;
    Dwarf_Op *op;
    size_t n;
    if (!dwarf_attr(die, DW_AT_location, &a) || dwarf_getlocation(&a, &op, &n) || n != 1)
        return false;
    if (op->atom == DW_OP_addr) {
        *address = op->number;
        return true;
    }
    return (op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index) &&
           !dwarf_getlocation_attr(&a, op, &addr) && !dwarf_formaddr(&addr, address);
}

static const char *name_of(Dwarf_Die *die)
{
    Dwarf_Attribute a;
    return dwarf_attr_integrate(die, DW_AT_name, &a) ? dwarf_formstring(&a) : NULL;
}

static const char *keep(struct image_data *d, const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(arena_alloc(&d->texts, n), text, n);
}

static int by_die(const void *a, const void *b)
{
    const struct declared *x = a, *y = b;
    return x->die < y->die ? -1 : x->die > y->die;
}

/* What is defined apart from its declaration has the scope of that. */
static const char *scope_of(const struct image_data *d, Dwarf_Die *die, const char *otherwise)
{
    Dwarf_Attribute a;
    Dwarf_Die declaration;
    if (!d->declared.n || !dwarf_attr(die, DW_AT_specification, &a) || !dwarf_formref_die(&a, &declaration))
        return otherwise;
    const struct declared wanted = {.die = declaration.addr};
    const struct declared *x = bsearch(&wanted, d->declared.v, d->declared.n, sizeof wanted, by_die);
    return x ? x->scope : otherwise;
}

static void add_variable(struct image_data *d, Dwarf_Die *die, const char *scope)
{
    char text[NAME_ROOM];
    const char *name = name_of(die);
    Dwarf_Die type;
    u64 address;
    int line = 0;
    if (!name || !static_address(die, &address) || !layout_type(die, &type))
        return;
    scope = scope_of(d, die, scope);
    struct datum x = {.start = own_address(d, address), .layout = layout_of(&d->layouts, &type) + 1};
    const struct layout *l = &d->layouts.v.v[x.layout - 1];
    snprintf(text, sizeof text, "%s%s%s", scope, scope[0] ? "::" : "", name);
    x.end = x.start + l->size;
    x.name = keep(d, text);
    x.type = l->type;
    x.file = dwarf_decl_file(die);
    x.line = dwarf_decl_line(die, &line) ? 0 : (u32)line;
    vec_push(&d->v, x);
}

/* Variables in it, and in what it holds. */
static void add_children(struct image_data *d, Dwarf_Die *of, const char *scope, u32 depth)
{
    Dwarf_Die child;
    if (depth > NESTING)
        return;
    for (int r = dwarf_child(of, &child); r == 0; r = dwarf_siblingof(&child, &child)) {
        char inner[NAME_ROOM];
        const int tag = dwarf_tag(&child);
        const bool is_class = tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
        const bool has_name = is_class || tag == DW_TAG_namespace || tag == DW_TAG_subprogram;
        const char *name = has_name ? name_of(&child) : NULL;
        if ((tag == DW_TAG_variable || tag == DW_TAG_member) && scope[0] && dwarf_hasattr(&child, DW_AT_declaration))
            vec_push(&d->declared, ((struct declared){child.addr, scope}));
        else if (tag == DW_TAG_variable)
            add_variable(d, &child, scope);
        if (!has_name && tag != DW_TAG_lexical_block)
            continue;
        snprintf(inner, sizeof inner, "%s%s%s", scope, scope[0] && name ? "::" : "", name ? name : "");
        add_children(d, &child, is_class || tag == DW_TAG_namespace ? keep(d, inner) : inner, depth + 1);
    }
}

static void add_units(struct image_data *d)
{
    Dwarf_Addr bias;
    for (Dwarf_Die *cu = NULL; (cu = dwfl_module_nextcu(d->image->module, cu, &bias));) {
        d->dwarf_bias = bias;
        d->declared.n = 0; /* they come in the order of the DIEs, and before what they declare */
        add_children(d, cu, "", 0);
    }
    vec_fini(&d->declared);
}

/* -- Symbols and sections ---------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct datum *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Sorted, and each byte in at most one of them. */
static void settle(struct image_data *d)
{
    size_t n = 0;
    if (d->v.n)
        qsort(d->v.v, d->v.n, sizeof *d->v.v, by_start);
    for (size_t i = 0; i < d->v.n; i++)
        if (d->v.v[i].end > d->v.v[i].start && (!n || d->v.v[i].start >= d->v.v[n - 1].end))
            d->v.v[n++] = d->v.v[i];
    d->v.n = n;
}

/* How many variables start at the address or before it. */
static size_t up_to(const struct datum *v, size_t n, u64 address)
{
    size_t from = 0, to = n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (v[middle].start <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool is_free(const struct datum *v, size_t n, u64 start, u64 end)
{
    size_t i = up_to(v, n, start);
    return (!i || v[i - 1].end <= start) && (i == n || v[i].start >= end);
}

/* A variable whose type has no size is as long as its symbol. */
static void add_symbols(struct image_data *d)
{
    struct image *m = d->image;
    if (!m->has_symbols)
        image_read_symbols(m);
    for (size_t i = 0; i < d->v.n; i++)
        for (size_t k = 0; d->v.v[i].end == d->v.v[i].start && k < m->variables.n; k++)
            if (m->variables.v[k].start - m->bias == d->v.v[i].start)
                d->v.v[i].end = m->variables.v[k].end - m->bias;
    settle(d);
    const size_t n = d->v.n;
    for (size_t i = 0; i < m->variables.n; i++) {
        const struct symbol *x = &m->variables.v[i];
        u64 start = x->start - m->bias, end = x->end - m->bias;
        if (is_free(d->v.v, n, start, end))
            vec_push(&d->v, ((struct datum){.start = start, .end = end, .name = x->name}));
    }
    settle(d);
}

static void add_sections(struct image_data *d)
{
    char text[NAME_ROOM];
    size_t names;
    const char *slash = strrchr(d->image->path, '/'), *file = slash ? slash + 1 : d->image->path;
    if (elf_getshdrstrndx(d->image->elf, &names))
        return;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(d->image->elf, s));) {
        GElf_Shdr h;
        if (!gelf_getshdr(s, &h) || !(h.sh_flags & SHF_ALLOC) || h.sh_flags & SHF_TLS || !h.sh_size)
            continue;
        const char *name = elf_strptr(d->image->elf, names, h.sh_name);
        snprintf(text, sizeof text, "%s of %s", name ? name : "?", file);
        vec_push(&d->sections,
                 ((struct datum){.start = h.sh_addr, .end = h.sh_addr + h.sh_size, .name = keep(d, text), .is_section = true}));
    }
    if (d->sections.n)
        qsort(d->sections.v, d->sections.n, sizeof *d->sections.v, by_start);
}

/* -- The door ---------------------------------------------------------------------------------- */

struct image_data *image_data(struct image *m)
{
    if (m->data || m->trouble)
        return m->data;
    struct image_data *d = m->data = zeros(1, sizeof *d);
    d->image = m;
    add_units(d);
    add_symbols(d);
    add_sections(d);
    return d;
}

void data_free(struct image_data *d)
{
    if (!d)
        return;
    vec_fini(&d->v);
    vec_fini(&d->sections);
    layouts_fini(&d->layouts);
    layouts_fini(&d->of_locals);
    arena_fini(&d->texts);
    free(d);
}

static s64 find_in(const struct datum *v, size_t n, u64 address)
{
    size_t i = up_to(v, n, address);
    return i && v[i - 1].end > address ? (s64)i - 1 : -1;
}

s64 data_find(const struct image_data *d, u64 address)
{
    s64 i = find_in(d->v.v, d->v.n, address);
    if (i >= 0)
        return i;
    i = find_in(d->sections.v, d->sections.n, address);
    return i >= 0 ? i + (s64)d->v.n : -1;
}

const struct datum *data_get(const struct image_data *d, u32 number)
{
    return number < d->v.n ? &d->v.v[number] : &d->sections.v[number - d->v.n];
}

u64 data_place(const struct image_data *d, u32 number, u64 offset, u64 *before, u64 *behind)
{
    const struct datum *x = data_get(d, number);
    if (x->layout)
        return layout_place(&d->layouts, x->layout - 1, offset, before, behind);
    *before = offset;
    *behind = x->end - x->start - offset;
    if (x->is_section) { /* as far as there is no variable in it */
        const u64 address = x->start + offset;
        const size_t i = up_to(d->v.v, d->v.n, address);
        *before = i ? MIN(*before, address - d->v.v[i - 1].end) : *before;
        *behind = i < d->v.n ? MIN(*behind, d->v.v[i].start - address) : *behind;
    }
    return 0;
}

const char *data_name(const struct image_data *d, u32 number, u64 place, char *text, size_t room)
{
    const struct datum *x = data_get(d, number);
    snprintf(text, room, "%s", x->name);
    return x->layout ? layout_name(&d->layouts, x->layout - 1, place, text, room) : NULL;
}
